package mmv

import (
	"bytes"
	"math"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A corruption is a recorded file with a flaw.
type corruption struct {
	file  string
	name  string // of the flaw
	image []byte
}

// A patcher changes a copy of a recorded file.
type patcher struct {
	b    []byte
	sect map[sectionKind]int // offset of the first record
	toc  map[sectionKind]int // offset of the entry in the table of contents
	v    Version
}

func newPatcher(t testing.TB, name string) *patcher {
	p := &patcher{b: bytes.Clone(recorded(t, name)), sect: map[sectionKind]int{}, toc: map[sectionKind]int{}}
	p.v = Version(native.Uint32(p.b[headerVersion:]))
	for i := range int(native.Uint32(p.b[headerSections:])) {
		off := headerLen + i*entryLen
		kind := sectionKind(native.Uint32(p.b[off+entryKind:]))
		p.toc[kind], p.sect[kind] = off, int(native.Uint64(p.b[off+entryOffset:]))
	}
	return p
}

func (p *patcher) u32(off int, v uint32) { native.PutUint32(p.b[off:], v) }
func (p *patcher) u64(off int, v uint64) { native.PutUint64(p.b[off:], v) }

// metricField is the offset of a field of a metric after its name.
func (p *patcher) metricField(i, field int) int {
	return p.sect[sectionMetrics] + i*p.v.metricLen() + p.v.nameLen() + field
}

func (p *patcher) instance(i, field int) int {
	return p.sect[sectionInstances] + i*p.v.instanceLen() + field
}
func (p *patcher) value(i, field int) int { return p.sect[sectionValues] + i*valueLen + field }

// patches are the flaws. In the recorded files metric 0 has a domain of two instances, values 0 and
// 1; metric 1 is a string, value 2; metric 2 an elapsed time, value 3; metric 3 a double, value 4.
var patches = []struct {
	name  string
	patch func(p *patcher)
}{
	{"39 bytes", func(p *patcher) { p.b = p.b[:39] }},
	{"40 bytes", func(p *patcher) { p.b = p.b[:40] }},
	{"no sections", func(p *patcher) { p.u32(headerSections, 0) }},
	{"1 section", func(p *patcher) { p.u32(headerSections, 1) }},
	{"-1 sections", func(p *patcher) { p.u32(headerSections, math.MaxUint32) }},
	{"too many sections", func(p *patcher) { p.u32(headerSections, 1000) }},
	{"version 0", func(p *patcher) { p.u32(headerVersion, 0) }},
	{"version 4", func(p *patcher) { p.u32(headerVersion, 4) }},
	{"magic MMV1", func(p *patcher) { p.b[3] = '1' }},
	{"magic XMV", func(p *patcher) { p.b[0] = 'X' }},
	{"cluster -1", func(p *patcher) { p.u32(headerCluster, math.MaxUint32) }},
	{"cluster 4096", func(p *patcher) { p.u32(headerCluster, 4096) }},
	{"cluster 4095", func(p *patcher) { p.u32(headerCluster, 4095) }},
	{"generations 0", func(p *patcher) { p.u64(headerGeneration1, 0); p.u64(headerGeneration2, 0) }},
	{"generation 1 is 0", func(p *patcher) { p.u64(headerGeneration1, 0) }},
	{"generations differ", func(p *patcher) { p.u64(headerGeneration2, 1) }},
	{"cut within the values", func(p *patcher) { p.b = p.b[:p.sect[sectionValues]+40] }},
	{"cut within the strings", func(p *patcher) { p.b = p.b[:p.sect[sectionStrings]+300] }},
	{"unknown section", func(p *patcher) { p.u32(p.toc[sectionStrings]+entryKind, 42) }},
	{"metrics twice", func(p *patcher) {
		p.u32(p.toc[sectionStrings]+entryKind, 3)
		p.u32(p.toc[sectionStrings]+entryCount, 0)
	}},
	{"-1 values", func(p *patcher) { p.u32(p.toc[sectionValues]+entryCount, math.MaxUint32) }},
	{"0 metrics", func(p *patcher) { p.u32(p.toc[sectionMetrics]+entryCount, 0) }},
	{"0 values", func(p *patcher) { p.u32(p.toc[sectionValues]+entryCount, 0) }},
	{"0 strings", func(p *patcher) { p.u32(p.toc[sectionStrings]+entryCount, 0) }},
	{"0 domains", func(p *patcher) { p.u32(p.toc[sectionInDoms]+entryCount, 0) }},
	{"100000 strings", func(p *patcher) { p.u32(p.toc[sectionStrings]+entryCount, 100000) }},
	{"metrics far away", func(p *patcher) { p.u64(p.toc[sectionMetrics]+entryOffset, 1<<62) }},
	{"values at the end", func(p *patcher) { p.u64(p.toc[sectionValues]+entryOffset, uint64(len(p.b))) }},
	{"domains outside", func(p *patcher) { p.u64(p.toc[sectionInDoms]+entryOffset, 1<<40) }},
	{"instances outside", func(p *patcher) { p.u64(p.toc[sectionInstances]+entryOffset, 1<<40) }},
	{"values at an odd offset", func(p *patcher) { p.u64(p.toc[sectionValues]+entryOffset, uint64(p.sect[sectionValues]+1)) }},
	{"serial of 23 bits", func(p *patcher) { p.u32(p.sect[sectionInDoms]+indomSerial, 1<<22) }},
	{"4194304 instances", func(p *patcher) { p.u32(p.sect[sectionInDoms]+indomCount, 1<<22) }},
	{"domain's instances outside", func(p *patcher) { p.u64(p.sect[sectionInDoms]+indomInstances, 1<<40) }},
	{"domain's text outside", func(p *patcher) { p.u64(p.sect[sectionInDoms]+indomShort, 1<<40) }},
	{"domain's help cut", func(p *patcher) { p.u64(p.sect[sectionInDoms]+indomLong, uint64(len(p.b)-255)) }},
	{"metric's text outside", func(p *patcher) { p.u64(p.metricField(0, metricShort), uint64(len(p.b))) }},
	{"metric's help outside", func(p *patcher) { p.u64(p.metricField(0, metricLong), 1<<33) }},
	{"type 42", func(p *patcher) { p.u32(p.metricField(3, metricType), 42) }},
	{"type 7", func(p *patcher) { p.u32(p.metricField(3, metricType), 7) }},
	{"type 8", func(p *patcher) { p.u32(p.metricField(3, metricType), 8) }},
	{"type -1", func(p *patcher) { p.u32(p.metricField(3, metricType), math.MaxUint32) }},
	{"type -2", func(p *patcher) { p.u32(p.metricField(3, metricType), math.MaxUint32-1) }},
	{"item 1024", func(p *patcher) { p.u32(p.metricField(1, metricItem), 1024) }},
	{"item twice", func(p *patcher) {
		p.u32(p.metricField(1, metricItem), native.Uint32(p.b[p.metricField(0, metricItem):]))
	}},
	{"unknown domain", func(p *patcher) { p.u32(p.metricField(0, metricInDom), 77) }},
	{"domain of a singular value", func(p *patcher) { p.u32(p.metricField(3, metricInDom), 5) }},
	{"padding", func(p *patcher) { p.u32(p.metricField(0, metricInDom)+4, 0xdeadbeef) }},
	{"string outside", func(p *patcher) { p.u64(p.value(2, valueExtra), uint64(len(p.b))) }},
	{"string far away", func(p *patcher) { p.u64(p.value(2, valueExtra), 1<<40) }},
	{"string cut by the end", func(p *patcher) { p.u64(p.value(2, valueExtra), uint64(len(p.b)-200)) }},
	{"string -1000", func(p *patcher) { p.u64(p.value(2, valueExtra), math.MaxUint64-999) }},
	{"no string", func(p *patcher) { p.u64(p.value(2, valueExtra), 0) }},
	{"value of no metric", func(p *patcher) { p.u64(p.value(3, valueMetric), 1<<40) }},
	{"value between metrics", func(p *patcher) { p.u64(p.value(3, valueMetric), native.Uint64(p.b[p.value(3, valueMetric):])+8) }},
	{"value's instance outside", func(p *patcher) { p.u64(p.value(0, valueInstance), uint64(len(p.b)-8)) }},
	{"value's instance far away", func(p *patcher) { p.u64(p.value(0, valueInstance), 1<<40) }},
	{"value without instance", func(p *patcher) { p.u64(p.value(0, valueInstance), 0) }},
	{"instance twice", func(p *patcher) { p.u64(p.value(1, valueInstance), native.Uint64(p.b[p.value(0, valueInstance):])) }},
	{"instance of no domain", func(p *patcher) { p.u64(p.instance(0, instanceInDom), 1<<40) }},
	{"names end nowhere", func(p *patcher) { p.endNames() }},
	{"name outside", func(p *patcher) { p.u64(p.sect[sectionMetrics], uint64(len(p.b)-100)) }},
	{"name at 0", func(p *patcher) { p.u64(p.sect[sectionMetrics], 0) }},
	{"instance's name outside", func(p *patcher) { p.u64(p.instance(0, instanceName), 1<<40) }},
	{"instance's name at 0", func(p *patcher) { p.u64(p.instance(1, instanceName), 0) }},
}

// endNames removes the end of the first name of a metric and of an instance.
func (p *patcher) endNames() {
	for _, off := range []int{p.sect[sectionMetrics] + metricName, p.instance(0, instanceName)} {
		n := shortNameLen
		if p.v != version1 {
			off, n = int(native.Uint64(p.b[off:])), stringLen
		}
		for i := range n {
			p.b[off+i] = 'x'
		}
	}
}

// interopCorruptions are flaws of the recorded files for tests that run a program of PCP for each.
// They are each flaw in one of the files; with PCP_INTEROP=require, in all.
func interopCorruptions(t testing.TB) []corruption {
	t.Helper()
	var list []corruption
	for n, name := range recordings {
		for i, c := range corruptions(t, name) {
			if thorough() || i%len(recordings) == n {
				list = append(list, c)
			}
		}
	}
	return list
}

// thorough reports whether tests that take long are to leave nothing out.
func thorough() bool { return pcptest.Required() }

// corruptions are the flaws of a recorded file.
func corruptions(t testing.TB, name string) []corruption {
	t.Helper()
	var list []corruption
	for _, c := range patches {
		p := newPatcher(t, name)
		c.patch(p)
		list = append(list, corruption{name, c.name, p.b})
	}
	return list
}
