"""A model of 32 layers goes through ring-opt in under 10 s, in time linear in the layers;
its weights stay resources, none is copied, printed or folded.

Each layer is the body of an exported Llama layer with weights of its own."""
# RUN: %python %s %S/Inputs/models/torch_llama_layer/model.mlir %t

import re
import resource
import subprocess
import sys

import numpy as np

MODEL, OUT = sys.argv[1:]


def model(layers):
    """The text of `layers` layers, one after another."""
    source = open(MODEL).read()
    head, rest = source.split("module {", 1)
    signature, body = re.search(r"func\.func @main\((.*?)\) ->[^\n]*\{\n(.*?)    return", rest, re.S).groups()
    result = re.search(r"return (%\w+) :", rest).group(1)
    (x, x_type), *weights = re.findall(r"(%arg\d+): (tensor<[^>]*>)", signature)
    lines, resources = [], re.findall(r"(\w[\w.]*): (\"0x[0-9A-F]+\")", rest)
    value = "%x"
    for layer in range(layers):
        for name, type in weights:
            weight = f"layer{layer}_{name[1:]}"
            shape = [int(size) for size in re.findall(r"(\d+)x", type)]
            data = np.random.default_rng(len(resources)).normal(0, 0.05, shape).astype("<f4").tobytes()
            lines.append(f"    %{weight} = arith.constant dense_resource<{weight}> : {type}")
            resources.append((weight, f'"0x04000000{data.hex().upper()}"'))

        def rename(match):
            name = match.group(0)
            return value if name == x else f"%layer{layer}_{name[1:]}"

        lines.append(re.sub(r"%\w+", rename, body))
        value = f"%layer{layer}_{result[1:]}"
    blobs = ",\n".join(f"      {name}: {data}" for name, data in resources)
    return (
        f"{head}module {{\n  func.func @main(%x: {x_type}) -> {x_type} {{\n" + "\n".join(lines)
        + f"\n    return {value} : {x_type}\n  }}\n}}\n{{-#\n  dialect_resources: {{\n    builtin: {{\n"
        + blobs + "\n    }\n  }\n#-}\n"
    ), resources


def lower(layers):
    """Seconds of the processor that ring-opt takes."""
    text, resources = model(layers)
    with open(f"{OUT}.{layers}.mlir", "w") as file:
        file.write(text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["ring-opt", f"{OUT}.{layers}.mlir", "--ring-to-cpu=ranks=4", "-o", f"{OUT}.out"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(f"{OUT}.out") as file:
        lowered = file.read()
    for name, data in resources:
        # A global takes it, and it stands in the file once.
        assert lowered.count(f"dense_resource<{name}>") == 1, name
        assert lowered.count(data) == 1, f"{name} is written {lowered.count(data)} times"
    assert not re.search(r'dense<"0x[0-9A-F]{256}', lowered), "a tensor is printed"
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


few = min(lower(8) for _ in range(2))
many = lower(32)
print(f"8 layers: {few:.2f} s, 32 layers: {many:.2f} s")
assert many < 10, f"32 layers take {many:.2f} s"
# Four times as much to do; half as much again for caches and noise.
assert many < 6 * few, f"8 layers take {few:.2f} s, 32 take {many:.2f} s"
