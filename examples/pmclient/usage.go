package main

import (
	"math"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A usage is a row of the report. What is unknown is not a number, and what is less than 0 makes no sense.
type usage struct {
	cpu           float64 // of all processors, 0 to 1
	busiest       int     // the number of the busiest processor, less than 0 if unknown
	busy          float64 // that processor, 0 to 1
	free          float64 // memory, in megabytes
	iops          float64 // disk operations a second
	load1, load15 float64
}

var unknown = math.NaN()

// usage is what happened from one sample to the next.
func (h *host) usage(before, now *pdu.Result) usage {
	u := usage{busiest: -1, cpu: unknown, busy: unknown, iops: unknown, free: unknown}
	elapsed := now.Time.Sub(before.Time)
	h.addProcessors(&u, before, now)
	// As in pmclient(1) the value is a float of 32 bits, and the one before has to be there.
	_, wasFree := singleValue[float32](before, freeMem, h.descs[freeMem].Type)
	if v, ok := singleValue[float32](now, freeMem, h.descs[freeMem].Type); ok && wasFree {
		if a, err := pdu.Float32(v).ConvertUnits(h.descs[freeMem].Units, pdu.SpaceMByte); err == nil {
			u.free, _ = pdu.As[float64](a)
		}
	}
	from, ok1 := singleValue[float64](before, diskTotal, h.descs[diskTotal].Type)
	to, ok2 := singleValue[float64](now, diskTotal, h.descs[diskTotal].Type)
	if ok1 && ok2 {
		rate, err := pmapi.CounterRate(pdu.Float64(from), pdu.Float64(to), elapsed, false)
		if u.iops = rate + 0.5/elapsed.Seconds(); err != nil { // as pmclient(1) rounds
			u.iops = unknown
		}
	}
	u.load1, u.load15 = h.instanceValue(now, load, h.load1Inst), h.instanceValue(now, load, h.load15Inst)
	return u
}

// addProcessors computes how busy the processors were, and which was busiest: its number is its index in the set.
func (h *host) addProcessors(u *usage, before, now *pdu.Result) {
	set := now.At(cpuUser)
	for i := range min(set.Len(), h.cpus) {
		busy := h.busyShare(before, now, set.Inst(i))
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
	u.cpu = float64(float32(u.cpu) / float32(h.cpus))
}

// busyShare returns the share of the time that a processor was busy, unknown if a counter was
// reset. As in pmclient(1) the values are floats of 32 bits: milliseconds, after a month, in steps
// of 256.
func (h *host) busyShare(before, now *pdu.Result, cpu pdu.InstID) float64 {
	var busy float64
	for _, set := range []int{cpuUser, cpuSys} {
		from, to := h.instanceValue(before, set, cpu), h.instanceValue(now, set, cpu)
		rate, err := pmapi.CounterRate(pdu.Float32(float32(from)), pdu.Float32(float32(to)), now.Time.Sub(before.Time), false)
		if err != nil {
			return unknown
		}
		busy += rate
	}
	a, err := pdu.Float64(busy).ConvertUnits(h.descs[cpuUser].Units, pdu.TimeSec)
	if err != nil {
		return unknown
	}
	share, _ := pdu.As[float64](a)
	return share
}

// instanceValue is the value of an instance, unknown without one.
func (h *host) instanceValue(r *pdu.Result, set int, inst pdu.InstID) float64 {
	for i, a := range r.At(set).All(h.descs[set].Type) {
		if i == inst {
			if v, err := pdu.As[float64](a); err == nil {
				return v
			}
		}
	}
	return unknown
}
