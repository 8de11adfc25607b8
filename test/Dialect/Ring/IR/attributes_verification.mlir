// RUN: ring-opt %s --split-input-file --verify-diagnostics

func.func private @host()
func.func private @local() attributes {ring.rank_of = @host, ring.local}
func.func private @rank() attributes {ring.rank_of = @host, ring.layout = #ring.layout<zigzag>, ring.slots = 3, ring.fingerprint = 42, ring.program = "2 ranks"}

// -----

// expected-error @+1 {{ring.rank_of is "host" on 'func.func', expected a symbol on a function}}
func.func private @rank_of_string() attributes {ring.rank_of = "host"}

// -----

// expected-error @+1 {{ring.rank_of is @host on 'builtin.module', expected a symbol on a function}}
module attributes {ring.rank_of = @host} {}

// -----

// expected-error @+1 {{ring.local is true on 'func.func', expected no value, on a function}}
func.func private @local_as_boolean() attributes {ring.rank_of = @host, ring.local = true}

// -----

// expected-error @+1 {{ring.local is unit on 'builtin.module', expected no value, on a function}}
module attributes {ring.local} {}

// -----

// expected-error @+1 {{ring.layout is "zigzag" on 'func.func', expected a #ring.layout on a function}}
func.func private @layout_as_string() attributes {ring.layout = "zigzag"}

// -----

// expected-error @+1 {{ring.layout is #ring.layout<zigzag> on 'shard.grid', expected a #ring.layout on a function}}
shard.grid @ring(shape = 4) {ring.layout = #ring.layout<zigzag>}

// -----

// expected-error @+1 {{ring.slots is "three" on 'func.func', expected an integer on a function}}
func.func private @slots_as_string() attributes {ring.slots = "three"}

// -----

// expected-error @+1 {{ring.fingerprint is 42 : i64 on 'builtin.module', expected an integer on a function}}
module attributes {ring.fingerprint = 42} {}

// -----

// expected-error @+1 {{ring.program is 42 : i64 on 'func.func', expected a string on a function}}
func.func private @program_as_integer() attributes {ring.program = 42}

// -----

// expected-error @+1 {{unknown attribute 'ring.laoyut' of the ring dialect}}
func.func private @misspelt() attributes {ring.laoyut = #ring.layout<zigzag>}

// -----

// expected-error @+1 {{unknown attribute `maks` in dialect `ring`}}
func.func private @misspelt_attribute() attributes {mask = #ring.maks<causal>}

// -----

// expected-error @+1 {{ring.device_callee is @f on 'builtin.module', expected a function, on what runs rank functions}}
module attributes {ring.device_callee = @f} {}
