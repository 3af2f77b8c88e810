package remotewrite

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Tags of fields: the field number and the wire type.
const (
	tagTimeSeries = 1<<3 | 2 // of WriteRequest
	tagMetadata   = 3<<3 | 2

	tagLabel  = 1<<3 | 2 // of TimeSeries
	tagSample = 2<<3 | 2

	tagName       = 1<<3 | 2 // of Label
	tagLabelValue = 2<<3 | 2

	tagValue     = 1<<3 | 1 // of Sample
	tagTimestamp = 2 << 3

	tagType   = 1 << 3 // of MetricMetadata
	tagFamily = 2<<3 | 2
	tagHelp   = 4<<3 | 2
	tagUnit   = 5<<3 | 2
)

// kinds are the types of MetricMetadata, by their names in OpenMetrics.
var kinds = map[string]byte{"counter": 1, "gauge": 2, "histogram": 3, "gaugehistogram": 4, "summary": 5, "info": 6, "stateset": 7}

func varintLen(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

func appendBytes[T string | []byte](b []byte, tag byte, text T) []byte {
	b = binary.AppendUvarint(append(b, tag), uint64(len(text)))
	return append(b, text...)
}

// appendLabel appends a Label as a field of a TimeSeries.
func appendLabel(b []byte, name, value string) []byte {
	n := 2 + varintLen(uint64(len(name))) + len(name) + varintLen(uint64(len(value))) + len(value)
	b = binary.AppendUvarint(append(b, tagLabel), uint64(n))
	return appendBytes(appendBytes(b, tagName, name), tagLabelValue, value)
}

// A sample is a value at a time, in milliseconds since 1970.
type sample struct {
	at    int64
	value float64
}

func (s sample) len() int { return 1 + 8 + 1 + varintLen(uint64(s.at)) }

// appendSeries appends a TimeSeries as a field of a WriteRequest. labels has its encoded label
// fields.
func appendSeries(b, labels []byte, samples []sample) []byte {
	n := len(labels)
	for _, s := range samples {
		n += 2 + s.len() // the length of a sample is less than 128, so it needs one byte
	}
	b = binary.AppendUvarint(append(b, tagTimeSeries), uint64(n))
	b = append(b, labels...)
	for _, s := range samples {
		b = append(b, tagSample, byte(s.len()), tagValue)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(s.value))
		b = binary.AppendUvarint(append(b, tagTimestamp), uint64(s.at))
	}
	return b
}

// appendMetadata appends a MetricMetadata as a field of a WriteRequest.
func appendMetadata(b []byte, kind byte, family, help, unit string) []byte {
	var m []byte
	if kind != 0 {
		m = append(m, tagType, kind)
	}
	m = appendBytes(m, tagFamily, family)
	if help != "" {
		m = appendBytes(m, tagHelp, help)
	}
	if unit != "" {
		m = appendBytes(m, tagUnit, unit)
	}
	return appendBytes(b, tagMetadata, m)
}
