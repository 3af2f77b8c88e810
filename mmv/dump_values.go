package mmv

import (
	"math"
	"strconv"
)

func (d *dumper) values(toc int, offset uint64, n int) bool {
	for i := range n {
		off := offset + uint64(i)*valueLen
		if !d.fits(off, valueLen) {
			return d.bad("Bad file size: too small for toc[%d] value[%d]\n", toc, i)
		}
		metric := d.uint64(off + valueMetric)
		if !d.fits(metric, uint64(d.version.metricLen())) {
			return d.bad("Bad file size: toc[%d] value[%d] metric offset\n", toc, i)
		}
		name, ok := d.metricName(metric, toc, "value", i, "mname")
		if !ok {
			return false
		}
		rest := metric + uint64(d.version.nameLen())
		d.printf("  [%d/%d] %s", d.uint32(rest+metricItem), off, name)
		serial := int32(d.uint32(rest + metricInDom))
		if serial != 0 && serial != noSerial && !d.instanceOfValue(toc, i, d.uint64(off+valueInstance)) {
			return false
		}
		d.value(toc, i, off, d.uint32(rest+metricType))
	}
	return true
}

// instanceOfValue prints the instance whose record is at an offset.
func (d *dumper) instanceOfValue(toc, i int, offset uint64) bool {
	if !d.fits(offset, uint64(d.version.instanceLen())) {
		return d.bad("\nBad file size: toc[%d] value[%d] inst offset\n", toc, i)
	}
	name := d.text(offset + instanceName)
	if d.version != version1 {
		at := d.uint64(offset + instanceName)
		if !d.fits(at, stringLen) {
			return d.bad("Bad file size: too small for toc[%d] value[%d] iname\n", toc, i)
		} else if at == 0 {
			return d.bad("Bad file: invalid offset for toc[%d] metric[%d] iname\n", toc, i)
		}
		name = d.slot(at)
	}
	d.printf("[%d or \"%s\"]", int32(d.uint32(offset+instanceID)), name)
	return true
}

// value prints the value whose record is at an offset. Like mmvdump, it does not treat an invalid
// value as a flaw of the file.
func (d *dumper) value(toc, i int, offset uint64, kind uint32) {
	half, word := d.uint32(offset+valueWord), d.uint64(offset+valueWord)
	extra := d.uint64(offset + valueExtra)
	switch valueType(kind) {
	case type32:
		d.printf(" = %d\n", int32(half))
	case typeU32:
		d.printf(" = %d\n", half)
	case type64:
		d.printf(" = %d\n", int64(word))
	case typeU64:
		d.printf(" = %d\n", word)
	case typeFloat:
		d.printf(" = %s\n", fixed(float64(math.Float32frombits(half))))
	case typeDouble:
		d.printf(" = %s\n", fixed(math.Float64frombits(word)))
	case typeString:
		if !d.fits(extra, stringLen) {
			d.printf(" = ?\nBad file size: toc[%d] str value[%d] extra\n", toc, i)
			return
		}
		d.printf(" = \"%s\"\n", d.text(extra))
	case typeElapsed:
		d.elapsed(int64(word), int64(extra))
	default:
		d.printf("Unknown type %d\n", int32(kind))
	}
}

func (d *dumper) elapsed(value, extra int64) {
	total := value
	if extra < 0 {
		total += d.now.UnixMicro() + extra
	}
	d.printf(" = %d (value=%d/extra=%d)\n", total, value, extra)
	if extra > 0 {
		d.printf("Bad (positive) ELAPSED 'extra' value found!\n")
	}
}

// fixed is what C's printf prints for %f.
func fixed(v float64) string {
	switch {
	case math.IsNaN(v) && math.Signbit(v):
		return "-nan"
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return map[bool]string{true: "-inf", false: "inf"}[v < 0]
	}
	return strconv.FormatFloat(v, 'f', 6, 64)
}
