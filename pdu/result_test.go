package pdu_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/pdu"
)

// Results as C programs send them.
const (
	storeOfString = `00000038 00007001 00000000 6b012980 000c93b8 00000001
		07400020 00000001 00000001 ffffffff 0000000b 0600000a "abcde" 00 7e7e`
	fetchOfLoad = `00000070 00007015 00000000 00000002 00000000 6b01297d 00000000 076a91ee
		0f000800 00000003 00000001 00000001 00000016 00000005 00000018 0000000f 0000001a
		0f000020 00000001 00000000 ffffffff 00000002
		04000008 3fc7ae14 04000008 3fd851ec 04000008 3f6147ae`
	fetchWithErrors = `0000003c 00007001 00000000 6b0128cb 000b1c63 00000003
		00800000 00000001 00000000 ffffffff 00000000 00818c00 ffffcfba 64000401 ffffcf9e`
	fetchOfEvents = `00000084 00007001 00000000 6b0129b9 00021d75 00000001
		07400088 00000002 00000002 00000000 0000000d 00000001 0000000f
		09000008 00000000
		09000048 00000002
		6b0129b9 00021d75 00000001 00000001 07400086 0600000c "fetch #0"
		6b0129b9 00021d75 00000001 00000001 07400086 0600000a "bingo!" 3a2f`
	replyOfAgent = `0000002c 00007001 00000000 00000000 00000000 00000001 0740000b 00000001 00000000 ffffffff 0000000a`
	replyOfDead  = `00000020 00007001 00000000 6b012dd5 00095b08 00000001 0740000a ffffffe0`
)

var resultTypes = map[pdu.PMID]pdu.Type{
	0x0f000800: pdu.TypeFloat, 0x0f000020: pdu.TypeU32, 0x00800000: pdu.Type32,
	0x07400020: pdu.TypeString, 0x07400088: pdu.TypeEvent, 0x0740000b: pdu.TypeU32,
}

// A view is what a Result says.
type view struct {
	Time time.Time
	Sets []setView
}

type setView struct {
	PMID  pdu.PMID
	Err   error
	Insts []pdu.InstID
	Atoms []pdu.Atom
}

// viewResult walks over all of a result; a PMID without a type has Type32.
func viewResult(r *pdu.Result, types map[pdu.PMID]pdu.Type) view {
	v := view{Time: r.Time}
	for _, s := range r.All() {
		sv := setView{PMID: s.PMID, Err: s.Err()}
		for inst, a := range s.All(types[s.PMID]) {
			sv.Insts = append(sv.Insts, inst)
			sv.Atoms = append(sv.Atoms, a)
		}
		v.Sets = append(v.Sets, sv)
	}
	return v
}

func decodeResult(t testing.TB, wire string) *pdu.Result {
	t.Helper()
	b := unhex(t, wire)
	p, err := pdu.Decode(pdu.Kind(uint32(b[6])<<8|uint32(b[7])), b[pdu.HeaderLen:])
	if err != nil {
		t.Fatal(err)
	}
	return p.(*pdu.Result)
}

func TestResult(t *testing.T) {
	tests := []struct {
		name, wire string
		want       view
	}{
		{"store", storeOfString, view{time.Unix(0x6b012980, 0xc93b8*1000), []setView{
			{0x07400020, nil, []pdu.InstID{-1}, []pdu.Atom{pdu.String("abcde")}}}}},
		{"high resolution", fetchOfLoad, view{time.Unix(0x6b01297d, 0x076a91ee), []setView{
			{0x0f000800, nil, []pdu.InstID{1, 5, 15}, []pdu.Atom{pdu.Float32(1.56), pdu.Float32(1.69), pdu.Float32(0.88)}},
			{0x0f000020, nil, []pdu.InstID{-1}, []pdu.Atom{pdu.Uint32(2)}}}}},
		{"errors", fetchWithErrors, view{time.Unix(0x6b0128cb, 0xb1c63*1000), []setView{
			{0x00800000, nil, []pdu.InstID{-1}, []pdu.Atom{pdu.Int32(0)}},
			{0x00818c00, pdu.ErrPMID, nil, nil},
			{0x64000401, pdu.ErrNoAgent, nil, nil}}}},
		{"agent", replyOfAgent, view{time.Time{}, []setView{
			{0x0740000b, nil, []pdu.InstID{-1}, []pdu.Atom{pdu.Uint32(10)}}}}},
		{"dead agent", replyOfDead, view{time.Unix(0x6b012dd5, 0x95b08*1000), []setView{
			{0x0740000a, pdu.Error(-32), nil, nil}}}},
		{"no sets", `00000018 00007001 00000000 00000000 00000000 00000000`, view{}},
		{"no values", `00000020 00007001 00000000 00000008 00000000 00000001 00000001 00000000`,
			view{time.Unix(8, 0), []setView{{PMID: 1}}}},
		{"fraction that is none", `00000018 00007001 00000000 00000007 000f4240 00000000`, view{Time: time.Unix(7, 0)}},
	}
	var used pdu.Result
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := decodeResult(t, tt.wire)
			if diff := cmp.Diff(tt.want, viewResult(r, resultTypes), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := r.Validate(); err != nil {
				t.Error(err)
			}
			// a used Result, and a copy of it
			used.Format, used.Changed = r.Format, pdu.ChangeNames
			if err := used.Decode(unhex(t, tt.wire)[pdu.HeaderLen:]); err != nil {
				t.Fatal(err)
			}
			if used.Changed != 0 {
				t.Errorf("Changed = %v, of the result before", used.Changed)
			}
			c := used.Clone()
			if err := used.Decode(nil); err == nil {
				t.Error("an empty body was decoded")
			}
			if diff := cmp.Diff(tt.want, viewResult(c, resultTypes), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("clone (-want +got):\n%s", diff)
			}
			if tt.name == "fraction that is none" {
				return
			}
			if diff := cmp.Diff(unhex(t, tt.wire)[pdu.HeaderLen:], encode(t, c)); diff != "" {
				t.Errorf("encoded again (-want +got):\n%s", diff)
			}
		})
	}
}

// TestResultChangesFormat: a Result may be sent in the other format.
func TestResultChangesFormat(t *testing.T) {
	r := decodeResult(t, fetchOfLoad)
	want := viewResult(r, resultTypes)
	want.Time = want.Time.Truncate(time.Microsecond)
	r.Format = pdu.FormatLowRes
	p, err := pdu.Decode(r.Kind(), encode(t, r))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, viewResult(p.(*pdu.Result), resultTypes)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestResultBlocks: blocks are checked when they are reached, or by Validate.
func TestResultBlocks(t *testing.T) {
	// one metric of two instances, whose blocks lie at words 13 and 15
	const sets = `00000000 00000000 00000001 00000001 00000002 00000001 `
	const bad = pdu.TypeUnknown
	tests := []struct {
		name, body string
		want       [2]pdu.Type
		err        string // of Validate, "" if the result is good
	}{
		{"good", sets + `00000000 0000000d 00000001 0000000f 06000008 "abc" 00 06000005 "d~~~"`,
			[2]pdu.Type{pdu.TypeString, pdu.TypeString}, ""},
		{"out of order", sets + `00000000 0000000f 00000001 0000000d 06000005 "a~~~" 06000005 "d~~~"`,
			[2]pdu.Type{pdu.TypeString, pdu.TypeString}, ""},
		{"shared", sets + `00000000 0000000d 00000001 0000000d 06000005 "a~~~"`,
			[2]pdu.Type{pdu.TypeString, pdu.TypeString}, "value blocks at offset 52: do not fill"},
		{"gap", sets + `00000000 0000000d 00000001 00000010 06000005 "a~~~" 00000000 06000005 "d~~~"`,
			[2]pdu.Type{pdu.TypeString, pdu.TypeString}, "value blocks at offset 52: do not fill"},
		{"gap before the first", sets + `00000000 0000000e 00000001 00000010 00000000 06000005 "a~~~" 06000005 "d~~~"`,
			[2]pdu.Type{pdu.TypeString, pdu.TypeString}, "value blocks at offset 52: do not fill"},
		{"trailing word", sets + `00000000 0000000d 00000001 0000000f 06000005 "a~~~" 06000005 "d~~~" 00000000`,
			[2]pdu.Type{pdu.TypeString, pdu.TypeString}, "value blocks at offset 52: do not fill"},
		{"shared, and a gap that makes up for it", sets + `00000000 0000000f 00000001 0000000f 06000005 "a~~~" 06000005 "d~~~"`,
			[2]pdu.Type{pdu.TypeString, pdu.TypeString}, "value blocks at offset 52: do not fill"},
		{"among the sets", sets + `00000000 00000006 00000001 0000000d 06000005 "a~~~"`,
			[2]pdu.Type{bad, pdu.TypeString}, "value block at offset 40: outside the PDU"},
		{"inside the header", sets + `00000000 00000002 00000001 0000000d 06000005 "a~~~"`,
			[2]pdu.Type{bad, pdu.TypeString}, "value block at offset 40: outside the PDU"},
		{"at the end", sets + `00000000 0000000d 00000001 0000000f 06000005 "a~~~"`,
			[2]pdu.Type{pdu.TypeString, bad}, "value block at offset 48: outside the PDU"},
		{"far away", sets + `00000000 0000000d 00000001 ffffffff 06000005 "a~~~"`,
			[2]pdu.Type{pdu.TypeString, bad}, "value block at offset 48: outside the PDU"},
		{"where 32 bits wrap", sets + `00000000 0000000d 00000001 4000000d 06000005 "a~~~"`,
			[2]pdu.Type{pdu.TypeString, bad}, "value block at offset 48: outside the PDU"},
		{"too short", sets + `00000000 0000000d 00000001 0000000f 06000005 "a~~~" 06000003 "d~~~"`,
			[2]pdu.Type{pdu.TypeString, bad}, "value block at offset 48: outside the PDU"},
		{"too long", sets + `00000000 0000000d 00000001 0000000f 06000005 "a~~~" 06000009 "d~~~"`,
			[2]pdu.Type{pdu.TypeString, bad}, "value block at offset 48: outside the PDU"},
		{"padding missing", sets + `00000000 0000000d 00000001 0000000f 06000005 "a~~~" 06000005 "d"`,
			[2]pdu.Type{pdu.TypeString, bad}, "value block at offset 48: outside the PDU"},
		{"of the wrong size for its type", sets + `00000000 0000000d 00000001 0000000f 06000005 "a~~~" 03000008 00000000`,
			[2]pdu.Type{pdu.TypeString, bad}, ""},
		{"of no type", sets + `00000000 0000000d 00000001 0000000f 06000005 "a~~~" 0b000008 00000000`,
			[2]pdu.Type{pdu.TypeString, bad}, ""},
		{"of unknown type, which is the metric's", sets + `00000000 0000000d 00000001 0000000f 06000005 "a~~~" ff000005 "b~~~"`,
			[2]pdu.Type{pdu.TypeString, pdu.TypeString}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r pdu.Result
			if err := r.Decode(unhex(t, tt.body)); err != nil {
				t.Fatal(err)
			}
			s := r.At(0)
			got := [2]pdu.Type{s.Atom(0, pdu.TypeString).Type, s.Atom(1, pdu.TypeString).Type}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("types (-want +got):\n%s", diff)
			}
			wantErr(t, "Validate", r.Validate(), tt.err)
			b, err := r.Append(make([]byte, pdu.HeaderLen))
			wantErr(t, "Append", err, tt.err)
			if err != nil {
				return
			}
			var again pdu.Result
			if err := again.Decode(b[pdu.HeaderLen:]); err != nil {
				t.Fatal(err)
			}
			types := map[pdu.PMID]pdu.Type{1: pdu.TypeString}
			if diff := cmp.Diff(viewResult(&r, types), viewResult(&again, types)); diff != "" {
				t.Errorf("decoded again (-want +got):\n%s", diff)
			}
		})
	}
}

// wantErr checks for an ErrIPC of a RESULT that begins with want, or for no error if want is
// empty.
func wantErr(t *testing.T, op string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", op, err)
	case want != "":
		wantIPC(t, op, err, "pdu: decode RESULT: "+want)
	}
}

// TestMalformedAtom: As returns ErrIPC for a malformed value.
func TestMalformedAtom(t *testing.T) {
	r := decodeResult(t, fetchOfLoad)
	a := r.At(1).Atom(0, pdu.TypeString) // in place, but no type of such values
	if _, err := pdu.As[uint64](a); !errors.Is(err, pdu.ErrIPC) {
		t.Errorf("As = %v, want %v", err, pdu.ErrIPC)
	}
}

// TestInsituFloat: very old agents send floats in place.
func TestInsituFloat(t *testing.T) {
	r := decodeResult(t, `0000002c 00007001 00000000 00000000 00000000 00000001 00000001 00000001 00000000 ffffffff 3fc00000`)
	if diff := cmp.Diff(pdu.Float32(1.5), r.At(0).Atom(0, pdu.TypeFloat)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestInsituUnknown: an in-place value of a metric of unknown type is still a number.
func TestInsituUnknown(t *testing.T) {
	r := decodeResult(t, `0000002c 00007001 00000000 00000000 00000000 00000001 00000001 00000001 00000000 ffffffff fffffffe`)
	if diff := cmp.Diff(pdu.Int32(-2), r.At(0).Atom(0, pdu.TypeUnknown)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestResultBreak: breaking out of a loop ends it.
func TestResultBreak(t *testing.T) {
	r := decodeResult(t, fetchOfLoad)
	n := 0
	for _, s := range r.All() {
		for range s.All(pdu.TypeFloat) {
			n++
			break
		}
		break
	}
	if n != 1 {
		t.Errorf("%d rounds, want 1", n)
	}
}

// TestResultZero: a Result that was never decoded is empty and encodes as such.
func TestResultZero(t *testing.T) {
	var r pdu.Result
	if err := r.Validate(); err != nil || r.Len() != 0 {
		t.Errorf("Validate = %v, Len = %d", err, r.Len())
	}
	if diff := cmp.Diff(make([]byte, 12), encode(t, &r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
