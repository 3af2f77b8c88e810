package pmdago

// known numbers the metrics of runtime/metrics. The index of a name is its item in every cluster,
// and determines the serial of its instance domain. Names are added at the end and never removed,
// so that numbers are the same in all releases of Go and of this package. The names below /godebug
// are the instances of one metric. The comments are the PCP names with the default Prefix.
var known = []string{
	"/cgo/go-to-c-calls:calls",                     // go.cgo.go_to_c_calls_calls
	"/cpu/classes/gc/mark/assist:cpu-seconds",      // go.cpu.classes.gc.mark.assist_cpu_seconds
	"/cpu/classes/gc/mark/dedicated:cpu-seconds",   // go.cpu.classes.gc.mark.dedicated_cpu_seconds
	"/cpu/classes/gc/mark/idle:cpu-seconds",        // go.cpu.classes.gc.mark.idle_cpu_seconds
	"/cpu/classes/gc/pause:cpu-seconds",            // go.cpu.classes.gc.pause_cpu_seconds
	"/cpu/classes/gc/total:cpu-seconds",            // go.cpu.classes.gc.total_cpu_seconds
	"/cpu/classes/idle:cpu-seconds",                // go.cpu.classes.idle_cpu_seconds
	"/cpu/classes/scavenge/assist:cpu-seconds",     // go.cpu.classes.scavenge.assist_cpu_seconds
	"/cpu/classes/scavenge/background:cpu-seconds", // go.cpu.classes.scavenge.background_cpu_seconds
	"/cpu/classes/scavenge/total:cpu-seconds",      // go.cpu.classes.scavenge.total_cpu_seconds
	"/cpu/classes/total:cpu-seconds",               // go.cpu.classes.total_cpu_seconds
	"/cpu/classes/user:cpu-seconds",                // go.cpu.classes.user_cpu_seconds
	"/gc/cleanups/executed:cleanups",               // go.gc.cleanups.executed_cleanups
	"/gc/cleanups/queued:cleanups",                 // go.gc.cleanups.queued_cleanups
	"/gc/cycles/automatic:gc-cycles",               // go.gc.cycles.automatic_gc_cycles
	"/gc/cycles/forced:gc-cycles",                  // go.gc.cycles.forced_gc_cycles
	"/gc/cycles/total:gc-cycles",                   // go.gc.cycles.total_gc_cycles
	"/gc/finalizers/executed:finalizers",           // go.gc.finalizers.executed_finalizers
	"/gc/finalizers/queued:finalizers",             // go.gc.finalizers.queued_finalizers
	"/gc/gogc:percent",                             // go.gc.gogc_percent
	"/gc/gomemlimit:bytes",                         // go.gc.gomemlimit_bytes
	"/gc/heap/allocs-by-size:bytes",                // go.gc.heap.allocs_by_size_bytes.buckets go.gc.heap.allocs_by_size_bytes.count go.gc.heap.allocs_by_size_bytes.quantiles go.gc.heap.allocs_by_size_bytes.recent
	"/gc/heap/allocs:bytes",                        // go.gc.heap.allocs_bytes
	"/gc/heap/allocs:objects",                      // go.gc.heap.allocs_objects
	"/gc/heap/frees-by-size:bytes",                 // go.gc.heap.frees_by_size_bytes.buckets go.gc.heap.frees_by_size_bytes.count go.gc.heap.frees_by_size_bytes.quantiles go.gc.heap.frees_by_size_bytes.recent
	"/gc/heap/frees:bytes",                         // go.gc.heap.frees_bytes
	"/gc/heap/frees:objects",                       // go.gc.heap.frees_objects
	"/gc/heap/goal:bytes",                          // go.gc.heap.goal_bytes
	"/gc/heap/live:bytes",                          // go.gc.heap.live_bytes
	"/gc/heap/objects:objects",                     // go.gc.heap.objects_objects
	"/gc/heap/tiny/allocs:objects",                 // go.gc.heap.tiny.allocs_objects
	"/gc/limiter/last-enabled:gc-cycle",            // go.gc.limiter.last_enabled_gc_cycle
	"/gc/pauses:seconds",                           // go.gc.pauses_seconds.buckets go.gc.pauses_seconds.count go.gc.pauses_seconds.quantiles go.gc.pauses_seconds.recent
	"/gc/scan/globals:bytes",                       // go.gc.scan.globals_bytes
	"/gc/scan/heap:bytes",                          // go.gc.scan.heap_bytes
	"/gc/scan/stack:bytes",                         // go.gc.scan.stack_bytes
	"/gc/scan/total:bytes",                         // go.gc.scan.total_bytes
	"/gc/stack/starting-size:bytes",                // go.gc.stack.starting_size_bytes
	"/memory/classes/heap/free:bytes",              // go.memory.classes.heap.free_bytes
	"/memory/classes/heap/objects:bytes",           // go.memory.classes.heap.objects_bytes
	"/memory/classes/heap/released:bytes",          // go.memory.classes.heap.released_bytes
	"/memory/classes/heap/stacks:bytes",            // go.memory.classes.heap.stacks_bytes
	"/memory/classes/heap/unused:bytes",            // go.memory.classes.heap.unused_bytes
	"/memory/classes/metadata/mcache/free:bytes",   // go.memory.classes.metadata.mcache.free_bytes
	"/memory/classes/metadata/mcache/inuse:bytes",  // go.memory.classes.metadata.mcache.inuse_bytes
	"/memory/classes/metadata/mspan/free:bytes",    // go.memory.classes.metadata.mspan.free_bytes
	"/memory/classes/metadata/mspan/inuse:bytes",   // go.memory.classes.metadata.mspan.inuse_bytes
	"/memory/classes/metadata/other:bytes",         // go.memory.classes.metadata.other_bytes
	"/memory/classes/os-stacks:bytes",              // go.memory.classes.os_stacks_bytes
	"/memory/classes/other:bytes",                  // go.memory.classes.other_bytes
	"/memory/classes/profiling/buckets:bytes",      // go.memory.classes.profiling.buckets_bytes
	"/memory/classes/total:bytes",                  // go.memory.classes.total_bytes
	"/sched/gomaxprocs:threads",                    // go.sched.gomaxprocs_threads
	"/sched/goroutines-created:goroutines",         // go.sched.goroutines_created_goroutines
	"/sched/goroutines/not-in-go:goroutines",       // go.sched.goroutines.not_in_go_goroutines
	"/sched/goroutines/runnable:goroutines",        // go.sched.goroutines.runnable_goroutines
	"/sched/goroutines/running:goroutines",         // go.sched.goroutines.running_goroutines
	"/sched/goroutines/waiting:goroutines",         // go.sched.goroutines.waiting_goroutines
	"/sched/goroutines:goroutines",                 // go.sched.goroutines_goroutines
	"/sched/latencies:seconds",                     // go.sched.latencies_seconds.buckets go.sched.latencies_seconds.count go.sched.latencies_seconds.quantiles go.sched.latencies_seconds.recent
	"/sched/pauses/stopping/gc:seconds",            // go.sched.pauses.stopping.gc_seconds.buckets go.sched.pauses.stopping.gc_seconds.count go.sched.pauses.stopping.gc_seconds.quantiles go.sched.pauses.stopping.gc_seconds.recent
	"/sched/pauses/stopping/other:seconds",         // go.sched.pauses.stopping.other_seconds.buckets go.sched.pauses.stopping.other_seconds.count go.sched.pauses.stopping.other_seconds.quantiles go.sched.pauses.stopping.other_seconds.recent
	"/sched/pauses/total/gc:seconds",               // go.sched.pauses.total.gc_seconds.buckets go.sched.pauses.total.gc_seconds.count go.sched.pauses.total.gc_seconds.quantiles go.sched.pauses.total.gc_seconds.recent
	"/sched/pauses/total/other:seconds",            // go.sched.pauses.total.other_seconds.buckets go.sched.pauses.total.other_seconds.count go.sched.pauses.total.other_seconds.quantiles go.sched.pauses.total.other_seconds.recent
	"/sched/threads/total:threads",                 // go.sched.threads.total_threads
	"/sync/mutex/wait/total:seconds",               // go.sync.mutex.wait.total_seconds
}
