package otlp

import (
	"math"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

func TestUnits(t *testing.T) {
	for _, test := range []struct {
		units  pdu.Units
		text   string
		factor float64
	}{
		{pdu.NoUnits, "1", 1},
		{pdu.SpaceYByte, "YiBy", 1},
		{pdu.TimeNSec, "ns", 1},
		{pdu.PerSec, "1/s", 1},
		{pdu.UnitCount | pdu.PerSec, "{count}/s", 1},
		{pdu.MakeUnits(0, 0, 1, 0, 0, 6), "{count}", 1e6},
		{pdu.MakeUnits(0, 1, -1, 0, int(pdu.TimeMSec>>12&15), 3), "ms/{count}", 1e-3},
		{pdu.MakeUnits(2, 1, -1, 1, 3, 0), "KiBy2.s/{count}", 1},
		{pdu.MakeUnits(1, -2, 0, 2, 5, 0), "MiBy/h2", 1},
		{pdu.MakeUnits(0, 0, 2, 0, 0, 0), "{count}", 1},
		{pdu.MakeUnits(1, 0, -2, 0, 0, 3), "By/{count}", 1e-6},
		{pdu.MakeUnits(1, 0, 0, 9, 0, 0), "", 1},
		{pdu.MakeUnits(0, 1, 0, 0, 6, 0), "", 1},
		{pdu.TempFahrenheit, "[degF]", 1},
		{pdu.MicroWatt, "uW", 1},
		{pdu.Watt | pdu.SpaceByte, "", 1},
	} {
		if text, factor := ucum(test.units); text != test.text || math.Abs(factor-test.factor) > 1e-12 {
			t.Errorf("%v: %q, %v; want %q, %v", test.units, text, factor, test.text, test.factor)
		}
	}
}

func TestResponse(t *testing.T) {
	for body, want := range map[string]struct {
		rejected int64
		message  string
		failed   bool
	}{
		`{}`:                                {},
		`{"partialSuccess":{}}`:             {},
		`{"partialSuccess":null,"new":[1]}`: {},
		`{"partialSuccess":{"rejectedDataPoints":"3"}}`:                   {rejected: 3},
		`{"partialSuccess":{"rejectedDataPoints":3,"errorMessage":"x"}}`:  {rejected: 3, message: "x"},
		`{"partialSuccess":{"rejectedDataPoints":"-3"}}`:                  {failed: true},
		`{"partialSuccess":{"rejectedDataPoints":1.5}}`:                   {failed: true},
		`{"partialSuccess":{"rejectedDataPoints":"9223372036854775808"}}`: {failed: true},
		`{"partialSuccess":[]}`:                                           {failed: true},
		``:                                                                {failed: true},
	} {
		rejected, message, err := parseResponse([]byte(body))
		if rejected != want.rejected || message != want.message || (err != nil) != want.failed {
			t.Errorf("%s: %d %q %v", body, rejected, message, err)
		}
	}
}

func FuzzResponse(f *testing.F) {
	for _, body := range []string{`{}`, `{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"old"}}`, `{"code":3,"message":"bad"}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		rejected, message, err := parseResponse(body)
		if rejected < 0 || len(message) > 1024 || err != nil && rejected != 0 {
			t.Errorf("%d rejected, %d bytes of a message, error %v", rejected, len(message), err)
		}
		parseStatus(body)
	})
}
