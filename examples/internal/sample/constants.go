package sample

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// writables are values that clients can set and that have no other effect.
type writables struct {
	rate      int32
	long      int32
	ulong     uint32
	longlong  int64
	ulonglong uint64
	float     float32
	double    float64
	text      string
	aggregate []byte
}

func (s *sample) registerConstants() {
	w := &s.writable
	*w = writables{rate: 2, long: 13, ulong: 13, longlong: 13, ulonglong: 13, float: 13, double: 13, text: "13", aggregate: []byte("13")}
	add(s, 36, pmda.Metric[int32]{Name: "write_me", Units: pdu.UnitCount | pdu.PerSec, Value: variable(&w.rate)})
	storeWord(s, 36, storesInto(&w.rate))

	addNumbers(s, 10, "long", &w.long)
	storeWord(s, 14, storesInto(&w.long))
	addNumbers(s, 15, "float", &w.float)
	storeFloat(s, 19, func(v float32) { w.float = v })
	addNumbers(s, 20, "longlong", &w.longlong)
	storeBlock(s, 24, func(v int64) { w.longlong = v })
	addNumbers(s, 25, "double", &w.double)
	storeBlock(s, 29, func(v float64) { w.double = v })
	addNumbers(s, 93, "ulong", &w.ulong)
	storeWord(s, 97, storesInto(&w.ulong))
	addNumbers(s, 98, "ulonglong", &w.ulonglong)
	storeBlock(s, 102, func(v uint64) { w.ulonglong = v })

	add(s, 30, pmda.Metric[string]{Name: "string.null", Value: constant("")})
	add(s, 31, pmda.Metric[string]{Name: "string.hullo", Value: constant(hullo)})
	add(s, 32, pmda.Metric[string]{Name: "string.write_me", Value: variable(&w.text)})
	storeBlock(s, 32, func(v string) { w.text = v })
	add(s, 33, pmda.Metric[[]byte]{Name: "aggregate.null", Value: constant([]byte{})})
	add(s, 34, pmda.Metric[[]byte]{Name: "aggregate.hullo", Value: constant([]byte(hullo))})
	add(s, 35, pmda.Metric[[]byte]{Name: "aggregate.write_me", Value: variable(&w.aggregate)})
	storeBlock(s, 35, func(v []byte) { w.aggregate = append([]byte{}, v...) })

	scales := []string{"base", "deca", "hecto", "kilo", "mega"}
	for i, scale := range []int{0, 1, 2, 3, 6} {
		v := uint32(42e6)
		for range scale {
			v /= 10
		}
		add(s, 115+i, pmda.Metric[uint32]{Name: "ulong.count." + scales[i], Value: constant(v),
			Units: pdu.MakeUnits(-1, 0, 1, pdu.SpaceMByte.ScaleSpace(), 0, scale)})
	}
	add(s, itemBigID, pmda.Metric[int32]{Name: "bigid", Units: pdu.UnitCount, Value: constant(int32(1<<22 - 1))})
}

const (
	hullo     = "hullo world!"
	itemBigID = 1023
)

// addNumbers adds four constants and a variable of a type.
func addNumbers[T int32 | uint32 | int64 | uint64 | float32 | float64](s *sample, item int, group string, writeMe *T) {
	add(s, item, pmda.Metric[T]{Name: group + ".one", Value: constant(T(1))})
	add(s, item+1, pmda.Metric[T]{Name: group + ".ten", Value: constant(T(10))})
	add(s, item+2, pmda.Metric[T]{Name: group + ".hundred", Value: constant(T(100))})
	add(s, item+3, pmda.Metric[T]{Name: group + ".million", Value: constant(T(1000000))})
	add(s, item+4, pmda.Metric[T]{Name: group + ".write_me", Value: variable(writeMe)})
}
