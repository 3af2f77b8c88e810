package main

import (
	"math"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A usage is a row of the report. Unknown numbers are NaN, and negative ones are invalid.
type usage struct {
	cpu           float64 // of all processors, 0 to 1
	busiest       int     // the number of the busiest processor, less than 0 if unknown
	busy          float64 // that processor, 0 to 1
	free          float64 // memory, in megabytes
	iops          float64 // disk operations a second
	load1, load15 float64
}

var unknown = math.NaN()

// usageOf returns the usage between two samples.
func usageOf(before, now *sample, cpus int) usage {
	u := usage{busiest: -1, cpu: unknown, busy: unknown, iops: unknown, free: unknown}
	u.addProcessors(before, now, cpus)
	// As in pmclient(1) the value is a 32-bit float, and the previous sample must have one too.
	_, wasFree := singleValue[float32](before.At(freeMem), before.descs[freeMem].Type)
	if v, ok := singleValue[float32](now.At(freeMem), now.descs[freeMem].Type); ok && wasFree {
		if a, err := pdu.Float32(v).ConvertUnits(now.descs[freeMem].Units, pdu.SpaceMByte); err == nil {
			u.free, _ = pdu.As[float64](a)
		}
	}
	from, ok1 := singleValue[float64](before.At(diskTotal), before.descs[diskTotal].Type)
	to, ok2 := singleValue[float64](now.At(diskTotal), now.descs[diskTotal].Type)
	if ok1 && ok2 {
		elapsed := now.Time.Sub(before.Time)
		u.iops = rate(before, now, diskTotal, pdu.Float64(from), pdu.Float64(to)) + 0.5/elapsed.Seconds() // as pmclient(1) rounds
	}
	u.load1, u.load15 = now.load(0), now.load(1)
	return u
}

// rate returns the rate of a counter per second. It is unknown if the counter was reset or the
// metric has changed.
func rate(before, now *sample, metric int, from, to pdu.Atom) float64 {
	if d := now.descs[metric]; d != before.descs[metric] || d.Sem != pdu.SemCounter {
		return unknown
	}
	v, err := pmapi.CounterRate(from, to, now.Time.Sub(before.Time), false)
	if err != nil {
		return unknown
	}
	return v
}

// addProcessors computes the usage of the processors and the busiest one. Its number is its index
// in the set.
func (u *usage) addProcessors(before, now *sample, cpus int) {
	set := now.At(cpuUser)
	for i := range min(set.Len(), cpus) {
		busy := busyShare(before, now, set.Inst(i))
		if math.IsNaN(busy) {
			continue
		}
		busy = min(float64(float32(busy)), 1) // the agent and the collector read the clock at different times
		if u.busiest < 0 {
			u.cpu = 0
		}
		if u.cpu = float64(float32(u.cpu) + float32(busy)); u.busiest < 0 || busy > u.busy {
			u.busiest, u.busy = i, busy
		}
	}
	u.cpu = float64(float32(u.cpu) / float32(cpus))
}

// busyShare returns the share of the time that a processor was busy. As in pmclient(1) the values
// are 32-bit floats. After a month of uptime these have a resolution of 256 milliseconds.
func busyShare(before, now *sample, cpu pdu.InstID) float64 {
	var share float64
	for _, metric := range []int{cpuUser, cpuSys} {
		from, to := before.value(metric, cpu), now.value(metric, cpu)
		busy := rate(before, now, metric, pdu.Float32(float32(from)), pdu.Float32(float32(to)))
		a, err := pdu.Float64(busy).ConvertUnits(now.descs[metric].Units, pdu.TimeSec)
		if err != nil {
			return unknown
		}
		v, _ := pdu.As[float64](a)
		share += v
	}
	return share
}

// load returns the load of an instance of loadNames, unknown without a value.
func (s *sample) load(i int) float64 {
	if s.loads[i] == pdu.NoInst {
		return unknown
	}
	return s.value(load, s.loads[i])
}

// value returns the value of an instance, unknown without one.
func (s *sample) value(metric int, inst pdu.InstID) float64 {
	for i, a := range s.At(metric).All(s.descs[metric].Type) {
		if i == inst {
			if v, err := pdu.As[float64](a); err == nil {
				return v
			}
		}
	}
	return unknown
}
