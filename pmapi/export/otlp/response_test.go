package otlp

import (
	"math"
	"net/http"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

func TestUnits(t *testing.T) {
	for _, test := range []struct {
		units  pdu.Units
		text   string
		factor float64
	}{
		{pdu.NoUnits, "", 1},
		{pdu.SpaceKByte, "By", 1024},
		{pdu.SpaceKByte | pdu.PerSec, "By/s", 1024},
		{pdu.SpaceYByte, "YiBy", 1},
		{pdu.TimeNSec, "s", 1e-9},
		{pdu.PerSec, "Hz", 1},
		{pdu.UnitCount, "{count}", 1},
		{pdu.UnitCount | pdu.PerSec, "{count}/s", 1},
		{pdu.MakeUnits(0, 0, 1, 0, 0, 6), "{count}", 1e6},
		{pdu.MakeUnits(0, 1, -1, 0, int(pdu.TimeMSec>>12&15), 3), "ms/{count}", 1e-3},
		{pdu.MakeUnits(2, 1, -1, 1, 3, 0), "KiBy2.s/{count}", 1},
		{pdu.MakeUnits(1, -2, 0, 2, 5, 0), "MiBy/h2", 1},
		{pdu.MakeUnits(0, 0, 2, 0, 0, 0), "{count}", 1},
		{pdu.MakeUnits(1, 0, -2, 0, 0, 3), "By/{count}", 1e-6},
		{pdu.MakeUnits(1, 0, 0, 9, 0, 0), "", 1},
		{pdu.MakeUnits(0, 1, 0, 0, 6, 0), "", 1},
		{pdu.MicroWatt, "W", 1e-6},
		{pdu.Watt | pdu.SpaceByte, "", 1},
	} {
		if text, conv := unitOf(pdu.Desc{Units: test.units}); text != test.text || math.Abs(conv.Float(1)-test.factor) > 1e-12 {
			t.Errorf("%v: %q, %v; want %q, %v", test.units, text, conv, test.text, test.factor)
		}
	}
	if text, conv := unitOf(pdu.Desc{Units: pdu.TempFahrenheit}); text != "Cel" || math.Abs(conv.Float(212)-100) > 1e-12 {
		t.Errorf("212 °F are %v %s", conv.Float(212), text)
	}
	if text, conv := unitOf(pdu.Desc{Units: pdu.TempFahrenheit, Sem: pdu.SemCounter}); text != "[degF]" || conv.Float(212) != 212 {
		t.Errorf("a counter of °F is one of %s: %v", text, conv)
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

// TestReason: a receiver gives the reason of a refusal in protobuf, JSON or plain text.
func TestReason(t *testing.T) {
	status := "\x08\x03\x12\x0cnot writable"
	for _, test := range []struct{ kind, body, want string }{
		{"application/x-protobuf", status, "not writable"},
		{"application/x-protobuf", status[:5], ""},
		{"application/x-protobuf", "", ""},
		{"application/json; charset=utf-8", `{"code":3,"message":"bad"}`, "bad"},
		{"application/json", `bad`, ""},
		{"text/plain; charset=utf-8", "out of order sample\n", "out of order sample"},
		{"text/html", "<html>", ""},
		{"", "x", ""},
	} {
		if got := reason(http.Header{"Content-Type": {test.kind}}, []byte(test.body)); got != test.want {
			t.Errorf("%s %q: %q, want %q", test.kind, test.body, got, test.want)
		}
	}
}

func TestProtobufResponse(t *testing.T) {
	for _, test := range []struct {
		body     string
		rejected int64
		message  string
		failed   bool
	}{
		{"", 0, "", false},
		{"\x0a\x00", 0, "", false},
		{"\x0a\x07\x08\x03\x12\x03old", 3, "old", false},
		{"\x12\x01x\x0a\x02\x08\x02\x1d1234\x1912345678", 2, "", false},
		{"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, "", true},
		{"\x0a\x05\x08\x03", 0, "", true},
		{"\x0b", 0, "", true},
		{"\x80", 0, "", true},
	} {
		rejected, message, err := reply(http.Header{"Content-Type": {typeProtobuf}}, []byte(test.body))
		if rejected != test.rejected || message != test.message || (err != nil) != test.failed {
			t.Errorf("%q: %d %q %v", test.body, rejected, message, err)
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
		if rejected, message, err = parseProtobufResponse(body); rejected < 0 || len(message) > 1024 || err != nil && rejected != 0 {
			t.Errorf("protobuf: %d rejected, %d bytes of a message, error %v", rejected, len(message), err)
		}
		for _, kind := range []string{typeJSON, typeProtobuf, "text/plain"} {
			reason(http.Header{"Content-Type": {kind}}, body)
		}
	})
}
