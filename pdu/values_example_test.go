package pdu_test

import (
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

func ExampleAtom_ConvertUnits() {
	free, err := pdu.Uint64(8_321_499_136).ConvertUnits(pdu.SpaceByte, pdu.SpaceMByte)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(free, pdu.SpaceMByte)

	_, err = free.ConvertUnits(pdu.SpaceMByte, pdu.TimeSec)
	fmt.Println(err)
	// Output:
	// 7936 Mbyte
	// Impossible value or scale conversion
}

func ExampleValueFormat_Format() {
	format := pdu.ValueFormat{Width: 10}
	for _, a := range []pdu.Atom{pdu.Uint32(42), pdu.Float32(0.1), pdu.Float64(1e20), pdu.String("eth0"), pdu.Aggregate([]byte{1, 2, 3})} {
		fmt.Println(format.Format(a))
	}
	// Output:
	//         42
	//        0.1
	//      1e+20
	//     "eth0"
	//   [010203]
}

func ExampleValueFormat() {
	b := pdu.EventBuilder{HighRes: true}
	b.Begin(time.Date(2024, 5, 17, 10, 50, 41, 5000, time.UTC), pdu.EventPoint)
	b.Missed(time.Date(2024, 5, 17, 10, 50, 44, 0, time.UTC), 7)
	events, err := b.Atom()
	if err != nil {
		fmt.Println(err)
		return
	}
	format := pdu.ValueFormat{SquashBlanks: true, Location: time.UTC}
	fmt.Printf("%s\n", format.Append(nil, events))
	fmt.Printf("%s\n", format.Append(nil, pdu.String("two\nlines")))
	// Output:
	// [2 event records (7 missed) timestamps 10:50:41.000005000...10:50:44.000000000]
	// "two lines"
}

func ExampleAtom_String() {
	fmt.Println(pdu.Float64(1234.5))
	fmt.Println(pdu.Aggregate([]byte("some opaque bytes")))
	// Output:
	// 1.234500e+03
	// [type=AGGREGATE len=17] 736f6d65 206f7061 71756520 ...
}

func ExampleFormatNumber() {
	for _, v := range []float64{0.5, 1234.5, -12345, 7e12, 1e16} {
		fmt.Printf("|%s|\n", pdu.FormatNumber(v))
	}
	// Output:
	// |  0.50 |
	// |  1.23K|
	// |-12.35K|
	// |  7.00T|
	// | inf?  |
}

func ExampleEventRecord_Values() {
	var b pdu.EventBuilder
	b.Begin(time.Unix(1, 0), pdu.EventStart|pdu.EventID)
	b.Param(pdu.MakePMID(29, 0, 127), pdu.String("session 17"))
	b.Missed(time.Unix(2, 0), 3)
	a, err := b.Atom()
	if err != nil {
		fmt.Println(err)
		return
	}
	events, err := a.Events() // as a fetch would have brought them
	if err != nil {
		fmt.Println(err)
		return
	}
	for record := range events.All() {
		fmt.Println(record.Time.Unix(), record.Flags)
		for metric, value := range record.Values() {
			fmt.Println(" ", metric, value)
		}
	}
	// Output:
	// 1 start,id
	//   511.0.1 10
	//   29.0.127 "session 17"
	// 2 missed
	//   511.0.1 2147483648
	//   511.0.2 3
}

func ExampleParseAtom() {
	fmt.Println(pdu.ParseAtom("0x1f", pdu.TypeU64))
	fmt.Println(pdu.ParseAtom("12 apples", pdu.Type32))
	// Output:
	// 31 <nil>
	// 0 Impossible value or scale conversion
}
