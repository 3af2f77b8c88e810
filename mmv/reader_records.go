package mmv

import (
	"math"

	"github.com/pcp-go/pcp/pdu"
)

// values finds the records of each metric's values.
func (p *parser) values() {
	records := p.records(sectionValues, valueLen, math.MaxInt32)
	p.f.values = int64(p.sect[sectionValues].offset)
	// Two passes: the first counts, so that the second allocates once.
	counts, n := p.countValues(records)
	numbers, ids := make([]int32, 0, n), make([]pdu.InstID, 0, n)
	at := 0
	for i := range p.f.Metrics {
		m, end := &p.f.Metrics[i], at+counts[i]
		m.records, m.Instances = numbers[at:at:end], ids[at:at:end]
		at = end
	}
	for i := 0; i < len(records); i += valueLen {
		p.value(records[i:i+valueLen], i/valueLen)
	}
	for i := range p.f.Metrics {
		p.f.Metrics[i].dropRepeated()
	}
}

// countValues counts the records of values of each metric, and of all metrics together. It counts
// at most one of a metric without a domain.
func (p *parser) countValues(records []byte) (counts []int, all int) {
	counts = make([]int, len(p.f.Metrics))
	for i := 0; i < len(records); i += valueLen {
		if m := p.metricAt(native.Uint64(records[i+valueMetric:])); m >= 0 && (counts[m] == 0 || p.f.Metrics[m].InDom != 0) {
			counts[m]++
			all++
		}
	}
	return counts, all
}

// What metricAt returns instead of an index.
const (
	leftOut  = -1 // a metric that was left out
	noMetric = -2
)

// metricAt is the index in f.Metrics of the metric whose record is at an offset, leftOut or
// noMetric.
func (p *parser) metricAt(offset uint64) int {
	length := uint64(p.f.Version.metricLen())
	d := offset - p.sect[sectionMetrics].offset // wraps around if it is before the section
	if d%length != 0 || d/length >= uint64(len(p.metricOf)) {
		return noMetric
	}
	return int(p.metricOf[d/length])
}

// value adds record number i of the values to its metric.
func (p *parser) value(b []byte, i int) {
	off := uint64(p.f.values) + uint64(i)*valueLen
	at := p.metricAt(native.Uint64(b[valueMetric:]))
	if at == leftOut {
		return
	}
	if at == noMetric {
		p.leaveOut(sectionValues, off, "no metric at offset %d", native.Uint64(b[valueMetric:]))
		return
	}
	m := &p.f.Metrics[at]
	if m.InDom == 0 {
		if len(m.records) == 0 {
			m.records, m.Instances = append(m.records, int32(i)), append(m.Instances, pdu.NoInst)
		}
		return
	}
	inst := native.Uint64(b[valueInstance:])
	if inst < headerLen || !p.fits(inst, 1, p.f.Version.instanceLen()) {
		p.leaveOut(sectionValues, off, "%s: the instance's offset %d is outside of the file", m.Name, inst)
		return
	}
	id := pdu.InstID(int32(native.Uint32(p.b[inst+instanceID:])))
	m.records, m.Instances = append(m.records, int32(i)), append(m.Instances, id)
}

// dropRepeated keeps only the first of several values of an instance.
func (m *FileMetric) dropRepeated() {
	ascending := true
	for i := 1; i < len(m.Instances) && ascending; i++ {
		ascending = m.Instances[i-1] < m.Instances[i]
	}
	if ascending {
		return // as most writers have them
	}
	seen := make(map[pdu.InstID]bool, len(m.Instances))
	n := 0
	for i, id := range m.Instances {
		if !seen[id] {
			seen[id] = true
			m.Instances[n], m.records[n] = id, m.records[i]
			n++
		}
	}
	m.Instances, m.records = m.Instances[:n], m.records[:n]
}

// labels reads the labels.
func (p *parser) labels() {
	records := p.records(sectionLabels, labelLen, maxLabels)
	for i := 0; i < len(records); i += labelLen {
		b, off := records[i:i+labelLen], p.sect[sectionLabels].offset+uint64(i)
		json, ended := cut(b[labelJSON:])
		if !ended {
			p.leaveOut(sectionLabels, off, "the label does not end within %d bytes", labelLen-labelJSON)
			continue
		}
		p.f.Labels = append(p.f.Labels, FileLabel{
			Flags:    native.Uint32(b[labelFlags:]),
			Identity: native.Uint32(b[labelIdentity:]),
			Instance: pdu.InstID(int32(native.Uint32(b[labelInstance:]))),
			JSON:     string(json),
		})
	}
}
