"""All mutations, in the order in which they are tried."""

from . import analysis, around, contractions, conversion, devices, dialect, gpu, kernels, models, passes, raising, runtime, schedule, tools, vgpu, virtual_driver
from .mutation import Broken  # noqa: F401

MUTATIONS = [
    *analysis.MUTATIONS,
    *runtime.MUTATIONS,
    *devices.MUTATIONS,
    *tools.MUTATIONS,
    *kernels.MUTATIONS,
    *gpu.MUTATIONS,
    *contractions.MUTATIONS,
    *conversion.MUTATIONS,
    *dialect.MUTATIONS,
    *passes.MUTATIONS,
    *around.MUTATIONS,
    *models.MUTATIONS,
    *raising.MUTATIONS,
    *schedule.MUTATIONS,
    *vgpu.MUTATIONS,
    *virtual_driver.MUTATIONS,
]
