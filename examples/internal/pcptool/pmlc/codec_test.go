package pmlc

import (
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/pdu"
)

// codecTests are PDUs of a C pmlc and a C pmlogger, without the header.
var codecTests = []struct {
	name string
	pdu  codec
	wire string
}{
	{"new volume", request(RequestNewVolume), "00000001"},
	{"status", request(RequestStatus), "00000002"},
	{"sync", request(RequestSync), "00000003"},
	{"qa 0", request(RequestQA), "00000064"},
	{"advisory on", &ControlReq{Control: logger.Advisory, State: logger.On, Interval: 5 * time.Second,
		Targets: []logger.Target{{PMID: 0x0f000803, Insts: []pdu.InstID{pdu.NoInst}}}},
		"0000000c 00000002 00001388 00000001 0f000803 00000001 ffffffff 00000000"},
	{"mandatory on once", &ControlReq{Control: logger.Mandatory, State: logger.On,
		Targets: []logger.Target{{PMID: 0x07400006, Insts: []pdu.InstID{300, 400}}}},
		"0000000b 00000002 00000000 00000001 07400006 00000002 0000012c 00000000 00000190 00000000"},
	{"mandatory maybe", &ControlReq{Control: logger.Mandatory, State: logger.Maybe, Targets: []logger.Target{{PMID: 0x07400006}}},
		"0000000b 00000001 00000000 00000001 07400006 00000000"},
	{"query", &ControlReq{Enquire: true, Targets: []logger.Target{{PMID: 0x07400005, Insts: []pdu.InstID{1}}, {PMID: 0x07400006},
		{PMID: 0x07400007, Insts: []pdu.InstID{pdu.NoInst}}}},
		"0000000d 00000000 00000000 00000003 07400005 00000001 00000001 00000000 07400006 00000000 07400007 00000001 ffffffff 00000000"},
	{"status of version 3", &Status{Start: time.Unix(0x6b012a2b, 0x2d270948), Last: time.Unix(0x6b012a2d, 0x2e85f506), Now: time.Unix(0x6b012a2e, 0x2d135877),
		Active: true, Size: 500, Host: "vm", Source: "localhost", Zone: "UTC", LoggerZone: "UTC"},
		`6b012a2b 00000000 2d270948 6b012a2d 00000000 2e85f506 6b012a2e 00000000 2d135877 00000001 00000000 00000000 000001f4
		00000003 0000000a 00000004 00000000 00000004 00000000 766d006c 6f63616c 686f7374 00555443 00555443 007e7e7e`},
	{"status of version 2", &Status{Version: Version2, Start: time.Unix(0x6b044b83, 0x15300*1000), Last: time.Unix(0x6b044bdc, 0x4deb2*1000),
		Now: time.Unix(0x6b044bdc, 0x67d21*1000), Active: true, Volume: 2, Size: 0x4afc, Host: "vm", Source: "h", Zone: "UTC", LoggerZone: "EST"},
		"7e7e7e7e 6b044b83 00015300 6b044bdc 0004deb2 6b044bdc 00067d21 00000001 00000002 00000000 00004afc" +
			"766d0000" + strings.Repeat("00", 60) + "68" + strings.Repeat("00", 63) + "555443" + strings.Repeat("00", 37) + "455354" + strings.Repeat("00", 37)},
	{"status without an archive", &Status{Host: "vm"},
		strings.Repeat("00", 36) + "00000000 00000000 00000000 00000000 00000003 00000000 00000000 00000000 00000000 00000000 766d007e"},
}

// A codec is a PDU that can be encoded and decoded.
type codec interface {
	pdu.PDU
	Decode([]byte) error
}

func request(r Request) *Request { return &r }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// encode is a body.
func encode(t testing.TB, p pdu.PDU) []byte {
	t.Helper()
	b, err := p.Append(make([]byte, pdu.HeaderLen))
	if err != nil {
		t.Fatal(err)
	}
	return b[pdu.HeaderLen:]
}

// empty is a zero value of the same type, and of the version for a Status.
func empty(p codec) codec {
	q := reflect.New(reflect.TypeOf(p).Elem()).Interface().(codec)
	if s, ok := p.(*Status); ok {
		q.(*Status).Version = s.Version
	}
	return q
}

func TestCodec(t *testing.T) {
	for _, tt := range codecTests {
		wire := unhex(t, tt.wire)
		if got := encode(t, tt.pdu); !cmp.Equal(got, wire) {
			t.Errorf("%s: got  %x\nwant %x", tt.name, got, wire)
		}
		got := empty(tt.pdu)
		if err := got.Decode(wire); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if diff := cmp.Diff(tt.pdu, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Loggers accept these, though no client sends them.
func TestDecodeLenient(t *testing.T) {
	for _, tt := range []struct {
		wire string
		want codec
	}{
		{"00000002 00000007", request(RequestStatus)},
		{"0000000d 00000000 00000000 00000001 07400007 ffffffff", &ControlReq{Enquire: true, Targets: []logger.Target{{PMID: 0x07400007}}}},
		{"0000000d 00000002 00000005 00000001 07400007 00000000 00000005", &ControlReq{Enquire: true, Targets: []logger.Target{{PMID: 0x07400007}}}},
		{"0000000c 00000001 00000000 00000001 07400007 00000000", &ControlReq{State: logger.Maybe, Targets: []logger.Target{{PMID: 0x07400007}}}},
	} {
		got := empty(tt.want)
		if err := got.Decode(unhex(t, tt.wire)); err != nil {
			t.Errorf("%s: %v", tt.wire, err)
		} else if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.wire, diff)
		}
	}
}

// malformedTests are bodies that are refused, and the field that is wrong.
var malformedTests = []struct {
	kind        pdu.Kind
	wire, field string
}{
	{KindRequest, "", "request"},
	{KindRequest, "0000", "request"},
	{KindControl, "", "control"},
	{KindControl, "0000000a 00000002 000003e8 00000001 07400007 00000000", "control"},
	{KindControl, "0000000e 00000002 000003e8 00000001 07400007 00000000", "control"},
	{KindControl, "0000000b 00000003 000003e8 00000001 07400007 00000000", "state"},
	{KindControl, "0000000b ffffffff 000003e8 00000001 07400007 00000000", "state"},
	{KindControl, "0000000b 00000002 ffffffff 00000001 07400007 00000000", "interval"},
	{KindControl, "0000000b 00000002 10000000 00000001 07400007 00000000", "interval"},
	{KindControl, "0000000b 00000002 000003e8 00000000", "numpmid"},
	{KindControl, "0000000b 00000002 000003e8 ffffffff", "numpmid"},
	{KindControl, "0000000b 00000002 000003e8 7fffffff 07400007 00000000", "numpmid"},
	{KindControl, "0000000b 00000002 000003e8 00000001 07400007", "numpmid"},
	{KindControl, "0000000d 00000000 00000000 00000001 07400007 00000064 00000001 00000000", "numval"},
	{KindControl, "0000000d 00000000 00000000 00000001 07400007 7fffffff 00000001 00000000", "numval"},
	{KindStatus, "00000001 00000002", "seconds"},
	{KindStatus, strings.Repeat("00", 52) + "ffffffff", "length"},
	{KindStatus, strings.Repeat("00", 52) + "00000101", "length"},
	{KindStatus, strings.Repeat("00", 52) + "00000100" + strings.Repeat("00", 20), "string"},
	{KindStatus, strings.Repeat("00", 76) + "00000000 00", "end"},
	{KindStatusV2, strings.Repeat("00", 251), "logger zone"},
	{KindStatusV2, strings.Repeat("00", 253), "end"},
}

func TestMalformed(t *testing.T) {
	for _, tt := range malformedTests {
		p := newPDU(tt.kind)
		err := p.Decode(unhex(t, tt.wire))
		if !errors.Is(err, pdu.ErrIPC) || !strings.Contains(err.Error(), tt.field) {
			t.Errorf("%s %s: got %v, want %s", kindName(tt.kind), tt.wire, err, tt.field)
		}
		if diff := cmp.Diff(newPDU(tt.kind), p); tt.kind != KindRequest && diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", kindName(tt.kind), tt.wire, diff)
		}
	}
}

// newPDU is a value for a kind.
func newPDU(k pdu.Kind) codec {
	switch k {
	case KindControl:
		return new(ControlReq)
	case KindRequest:
		return new(Request)
	case KindStatusV2:
		return &Status{Version: Version2}
	}
	return new(Status)
}

func TestEncodeRefuses(t *testing.T) {
	one := []logger.Target{{PMID: 1}}
	for _, p := range []pdu.PDU{
		&ControlReq{},
		&ControlReq{Enquire: true},
		&ControlReq{Control: 2, Targets: one},
		&ControlReq{State: 3, Targets: one},
		&ControlReq{State: logger.Maybe, Targets: one},
		&ControlReq{State: logger.On, Interval: -1, Targets: one},
		&ControlReq{State: logger.On, Interval: logconf.MaxInterval + 1, Targets: one},
		&ControlReq{State: logger.On, Interval: time.Microsecond, Targets: one},
	} {
		before := make([]byte, pdu.HeaderLen)
		if b, err := p.Append(before); !errors.Is(err, pdu.ErrIPC) || len(b) != len(before) {
			t.Errorf("%+v: got %d bytes, %v", p, len(b), err)
		}
	}
}

// Strings that are too long are cut.
func TestStatusLongStrings(t *testing.T) {
	long := strings.Repeat("x", 300)
	for version, want := range map[int]Status{
		Version2: {Version: Version2, Host: long[:63], Source: long[:63], Zone: long[:39], LoggerZone: long[:39]},
		Version3: {Version: Version3, Host: long[:255], Source: long[:255], Zone: long[:255], ZoneInfo: long[:255], LoggerZone: long[:255], LoggerZoneInfo: long[:255]},
	} {
		s := Status{Version: version, Host: long, Source: long, Zone: long, ZoneInfo: long, LoggerZone: long, LoggerZoneInfo: long}
		got := Status{Version: version}
		if err := got.Decode(encode(t, &s)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestStates(t *testing.T) {
	want := []logger.MetricState{
		{PMID: 0x07400005, Values: []logger.ValueState{
			{Inst: 0, Mandatory: true, Available: true, InLog: true},
			{Inst: 1, On: true, Mandatory: true, Available: true, InLog: true, Interval: 3 * time.Hour},
			{Inst: 2, Mandatory: true}}},
		{PMID: 0x00012345, Err: pdu.ErrPMID},
		{PMID: 0x07400007},
	}
	wire := unhex(t, `00000000 00000000 00000003 07400005 00000003 00000000 00000000 0000000e 00000001 0a4cb80f 00000002 00000002
		00012345 ffffcfba 07400007 00000000`)
	if got := encode(t, statesPDU(want)); !cmp.Equal(got, wire) {
		t.Errorf("got  %x\nwant %x", got, wire)
	}
	got, err := decodeStates(wire)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, s := range []string{"", "00000000 00000000 00000005 07400005 00000001", "00000000 00000000 00000001 07400005 00000001 00000001 00000000 000000ff"} {
		if got, err := decodeStates(unhex(t, s)); !errors.Is(err, pdu.ErrIPC) || got != nil {
			t.Errorf("%s: got %v, %v", s, got, err)
		}
	}
}
