package pdu_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/pdu"
)

// malformedTests are bodies that break a layout, with the beginning of the error after "pdu:
// decode KIND: ".
var malformedTests = []struct {
	name string
	kind pdu.Kind
	body string
	want string
}{
	{"empty", pdu.KindError, ``, "code at offset 12"},
	{"short", pdu.KindError, `000000`, "code at offset 12"},
	{"between plain and extended", pdu.KindError, `00000000 000000`, "end at offset 16"},
	{"longer than extended", pdu.KindError, `00000000 00000000 00000000`, "end at offset 16"},

	{"empty", pdu.KindResult, ``, "seconds at offset 12"},
	{"no microseconds", pdu.KindResult, `00000000`, "microseconds at offset 16"},
	{"no count", pdu.KindResult, `00000000 00000000`, "numpmid at offset 20"},
	{"negative count", pdu.KindResult, `00000000 00000000 ffffffff`, "numpmid at offset 20"},
	{"count beyond the end", pdu.KindResult, `00000000 00000000 00000002 00000001 00000000 0000`, "numpmid at offset 20"},
	{"greatest count", pdu.KindResult, `00000000 00000000 7fffffff 00000001 00000000`, "numpmid at offset 20"},
	{"values beyond the end", pdu.KindResult, `00000000 00000000 00000001 00000001 00000001 00000000 ffffffff`, "numval at offset 28"},
	{"no form", pdu.KindResult, `00000000 00000000 00000001 00000001 00000001`, "numval at offset 28"},
	{"greatest number of values", pdu.KindResult, `00000000 00000000 00000001 00000001 7fffffff 00000000 ffffffff 00000000`, "numval at offset 28"},
	{"unknown form", pdu.KindResult, `00000000 00000000 00000001 00000001 00000001 00000003 ffffffff 00000000`, "valfmt at offset 32"},
	{"negative form", pdu.KindResult, `00000000 00000000 00000001 00000001 00000001 ffffffff ffffffff 00000000`, "valfmt at offset 32"},
	{"second set cut", pdu.KindResult, `00000000 00000000 00000002 00000001 00000001 00000000 ffffffff 00000000`, "value set at offset 44"},
	{"empty", pdu.KindHighResResult, ``, "numpmid at offset 12"},
	{"no seconds", pdu.KindHighResResult, `00000000 00000000`, "seconds at offset 16"},
	{"no nanoseconds", pdu.KindHighResResult, `00000000 0000000000000000 00000000`, "nanoseconds at offset 24"},
	{"count beyond the end", pdu.KindHighResResult, `00000001 0000000000000000 0000000000000000 00000001`, "numpmid at offset 12"},
	{"negative count", pdu.KindHighResResult, `80000000 0000000000000000 0000000000000000`, "numpmid at offset 12"},
	{"values beyond the end", pdu.KindHighResResult, `00000001 0000000000000000 0000000000000000 00000001 00000002 00000000 00000000 00000000`, "numval at offset 36"},

	{"empty", pdu.KindProfile, ``, "context at offset 12"},
	{"negative context", pdu.KindProfile, `ffffffff 00000000 00000000 00000000`, "context at offset 12: negative"},
	{"no state", pdu.KindProfile, `00000000`, "state at offset 16"},
	{"no count", pdu.KindProfile, `00000000 00000000`, "numprof at offset 20"},
	{"negative count", pdu.KindProfile, `00000000 00000000 ffffffff 00000000`, "numprof at offset 20"},
	{"no padding", pdu.KindProfile, `00000000 00000000 00000001`, "padding at offset 24"},
	{"count beyond the end", pdu.KindProfile, `00000000 00000000 00000002 00000000 00000001 00000000 00000000 00000000`, "numprof at offset 20"},
	{"greatest count", pdu.KindProfile, `00000000 00000000 7fffffff 00000000`, "numprof at offset 20"},
	{"negative number of instances", pdu.KindProfile, `00000000 00000000 00000001 00000000 00000001 00000000 ffffffff 00000000`, "instances at offset 44"},
	{"instances beyond the end", pdu.KindProfile, `00000000 00000000 00000001 00000000 00000001 00000000 00000002 00000000 00000005`, "instances at offset 44"},
	{"trailing bytes", pdu.KindProfile, `00000000 00000000 00000000 00000000 00000000`, "end at offset 28"},

	{"empty", pdu.KindFetch, ``, "context at offset 12"},
	{"no timestamp", pdu.KindFetch, `00000000 00000000`, "timestamp at offset 16"},
	{"no count", pdu.KindFetch, `00000000 0000000000000000`, "number of PMIDs at offset 24"},
	{"no PMIDs", pdu.KindFetch, `00000000 0000000000000000 00000000`, "number of PMIDs at offset 24"},
	{"negative count", pdu.KindFetch, `00000000 0000000000000000 ffffffff 00000000`, "number of PMIDs at offset 24"},
	{"count beyond the end", pdu.KindHighResFetch, `00000000 0000000000000000 00000002 00000000`, "number of PMIDs at offset 24"},
	{"greatest count", pdu.KindHighResFetch, `00000000 0000000000000000 7fffffff 00000000`, "number of PMIDs at offset 24"},
	{"trailing word", pdu.KindFetch, `00000000 0000000000000000 00000001 00000001 00000002`, "end at offset 32"},

	{"empty", pdu.KindDescReq, ``, "pmid at offset 12"},
	{"trailing word", pdu.KindDescReq, `00000001 00000002`, "end at offset 16"},
	{"short", pdu.KindDesc, `00000001 00000001 ffffffff 00000001 000000`, "units at offset 28"},
	{"trailing byte", pdu.KindDesc, `00000001 00000001 ffffffff 00000001 00000000 00`, "end at offset 32"},
	{"empty", pdu.KindDescIDs, ``, "marker at offset 12"},
	{"marker", pdu.KindDescIDs, `00000000 00000001 00000001`, "marker at offset 12"},
	{"no PMIDs", pdu.KindDescIDs, `ffffffff 00000000`, "number of PMIDs at offset 16"},
	{"count beyond the end", pdu.KindDescIDs, `ffffffff 00000002 00000001`, "number of PMIDs at offset 16"},
	{"trailing word", pdu.KindDescIDs, `ffffffff 00000001 00000001 00000001`, "end at offset 24"},
	{"count beyond the end", pdu.KindDescs, `00000001 00000001 00000001 ffffffff 00000001`, "numdescs at offset 12"},
	{"negative count", pdu.KindDescs, `ffffffff`, "numdescs at offset 12"},
	{"greatest count", pdu.KindDescs, `7fffffff`, "numdescs at offset 12"},
	{"trailing word", pdu.KindDescs, `00000000 00000000`, "end at offset 16"},

	{"empty", pdu.KindInstanceReq, ``, "indom at offset 12"},
	{"no instance", pdu.KindInstanceReq, `00000001 0000000000000000`, "inst at offset 24"},
	{"negative name length", pdu.KindInstanceReq, `00000001 0000000000000000 ffffffff ffffffff`, "name at offset 32"},
	{"name beyond the end", pdu.KindInstanceReq, `00000001 0000000000000000 ffffffff 00000005 "abcd"`, "name at offset 32"},
	{"greatest name length", pdu.KindInstanceReq, `00000001 0000000000000000 ffffffff 7fffffff "abcd"`, "name at offset 32"},
	{"trailing word", pdu.KindInstanceReq, `00000001 0000000000000000 ffffffff 00000001 "a~~~~~~~"`, "end at offset 36"},
	{"half of the padding", pdu.KindInstanceReq, `00000001 0000000000000000 ffffffff 00000001 "a~~"`, "name at offset 33"},
	{"no count", pdu.KindInstance, `00000001`, "numinst at offset 16"},
	{"negative count", pdu.KindInstance, `00000001 ffffffff`, "numinst at offset 16"},
	{"count beyond the end", pdu.KindInstance, `00000001 00000002 00000001 00000000 000000`, "numinst at offset 16"},
	{"name beyond the end", pdu.KindInstance, `00000001 00000001 00000001 00000009 "abcdefgh"`, "name at offset 28"},
	{"negative name length", pdu.KindInstance, `00000001 00000001 00000001 80000000 "abcdefgh"`, "name at offset 28"},
	{"second entry cut", pdu.KindInstance, `00000001 00000002 00000001 00000008 "abcdefgh" 00000002`, "namelen at offset 40"},
	{"trailing word", pdu.KindInstance, `00000001 00000000 00000000`, "end at offset 20"},

	{"empty", pdu.KindTextReq, ``, "ident at offset 12"},
	{"no type", pdu.KindTextReq, `00000001`, "type at offset 16"},
	{"trailing byte", pdu.KindTextReq, `00000001 00000005 00`, "end at offset 20"},
	{"negative length", pdu.KindText, `00000001 ffffffff`, "text at offset 20"},
	{"text beyond the end", pdu.KindText, `00000001 00000005 "abcd"`, "text at offset 20"},
	{"trailing word", pdu.KindText, `00000001 00000000 00000000`, "end at offset 20"},

	{"empty", pdu.KindCreds, ``, "numcreds at offset 12"},
	{"none", pdu.KindCreds, `00000000`, "numcreds at offset 12"},
	{"negative count", pdu.KindCreds, `ffffffff`, "numcreds at offset 12"},
	{"count beyond the end", pdu.KindCreds, `00000002 01020000`, "numcreds at offset 12"},
	{"trailing word", pdu.KindCreds, `00000001 01020000 01020000`, "end at offset 20"},
	{"more than 1024", pdu.KindCreds, `00000401 ` + strings.Repeat("00000000", 1025), "numcreds at offset 12"},

	{"empty", pdu.KindPMNSIDs, ``, "status at offset 12"},
	{"no count", pdu.KindPMNSIDs, `00000000`, "number of PMIDs at offset 16"},
	{"negative count", pdu.KindPMNSIDs, `00000000 ffffffff`, "number of PMIDs at offset 16"},
	{"count beyond the end", pdu.KindPMNSIDs, `00000000 00000002 00000001`, "number of PMIDs at offset 16"},
	{"trailing byte", pdu.KindPMNSIDs, `00000000 00000000 00`, "end at offset 20"},

	{"empty", pdu.KindPMNSNames, ``, "nstrbytes at offset 12"},
	{"no number of statuses", pdu.KindPMNSNames, `00000000`, "numstatus at offset 16"},
	{"no count", pdu.KindPMNSNames, `00000000 00000000`, "numnames at offset 20"},
	{"count beyond the end", pdu.KindPMNSNames, `00000008 00000000 00000002 00000001`, "numnames at offset 20"},
	{"greatest count", pdu.KindPMNSNames, `00000008 00000000 7fffffff 00000001`, "numnames at offset 20"},
	{"statuses of some", pdu.KindPMNSNames, `00000004 00000001 00000002 00000000 00000000 00000000 00000000`, "numstatus at offset 16"},
	{"negative number of statuses", pdu.KindPMNSNames, `00000000 ffffffff 00000000`, "numstatus at offset 16"},
	{"no status", pdu.KindPMNSNames, `00000004 00000002 00000002 00000000 00000000`, "status at offset 32"},
	{"name beyond the end", pdu.KindPMNSNames, `00000008 00000000 00000001 00000005 "abcd"`, "name at offset 28"},
	{"negative name length", pdu.KindPMNSNames, `00000008 00000000 00000001 ffffffff "abcd"`, "name at offset 28"},
	{"names longer than announced", pdu.KindPMNSNames, `00000004 00000000 00000001 00000004 "abcd"`, "nstrbytes at offset 32"},
	{"trailing word", pdu.KindPMNSNames, `00000000 00000000 00000000 00000000`, "end at offset 24"},
	{"names beside an error", pdu.KindPMNSNames, `00000000 00000000 ffffcfba 00000000`, "end at offset 24"},

	{"empty", pdu.KindPMNSChild, ``, "subtype at offset 12"},
	{"no length", pdu.KindPMNSChild, `00000000`, "name at offset 16"},
	{"negative length", pdu.KindPMNSChild, `00000000 ffffffff`, "name at offset 20"},
	{"name beyond the end", pdu.KindPMNSChild, `00000000 00000009 "abcdefgh"`, "name at offset 20"},
	{"trailing word", pdu.KindPMNSChild, `00000000 00000004 "abcdefgh"`, "end at offset 24"},
	{"empty", pdu.KindPMNSTraverse, ``, "subtype at offset 12"},
	{"name beyond the end", pdu.KindPMNSTraverse, `00000000 00000009 "abcdefgh"`, "name at offset 20"},

	{"empty", pdu.KindAttr, ``, "attribute at offset 12"},
	{"long value", pdu.KindAttr, `0000000f ` + strings.Repeat("00", 4096), "value at offset 16"},
	{"long SASL payload", pdu.KindAttr, `00000000 ` + strings.Repeat("00", 2048), "value at offset 16"},

	{"empty", pdu.KindLabelReq, ``, "ident at offset 12"},
	{"no type", pdu.KindLabelReq, `00000001`, "type at offset 16"},
	{"trailing byte", pdu.KindLabelReq, `00000001 00000002 00`, "end at offset 20"},
	{"empty", pdu.KindLabel, ``, "ident at offset 12"},
	{"no padding", pdu.KindLabel, `00000001 00000002`, "padding at offset 20"},
	{"no count", pdu.KindLabel, `00000001 00000002 00000000`, "nsets at offset 24"},
	{"negative count", pdu.KindLabel, `00000001 00000002 00000000 ffffffff`, "nsets at offset 24"},
	{"count beyond the end", pdu.KindLabel, `00000001 00000002 00000000 00000002 ffffffff 00000000 0000002c 00000000`, "nsets at offset 24"},
	{"negative offset", pdu.KindLabel, `00000001 00000002 00000000 00000001 ffffffff 00000000 ffffffff 00000002 7b7d`, "json at offset 36"},
	{"text before its set's end", pdu.KindLabel, `00000001 00000002 00000000 00000001 ffffffff 00000000 0000001c 00000002 7b7d`, "json at offset 36"},
	{"text beyond the end", pdu.KindLabel, `00000001 00000002 00000000 00000001 ffffffff 00000000 0000002c 00000003 7b7d`, "json at offset 36"},
	{"text after the end", pdu.KindLabel, `00000001 00000002 00000000 00000001 ffffffff 00000000 7fffffff 00000002 7b7d`, "json at offset 36"},
	{"negative text length", pdu.KindLabel, `00000001 00000002 00000000 00000001 ffffffff 00000000 0000002c ffffffff 7b7d`, "json at offset 36"},
	{"long text", pdu.KindLabel, `00000001 00000002 00000000 00000001 ffffffff 00000000 0000002c 0000ffff` + strings.Repeat("20", 65535), "json at offset 36"},
	{"many labels", pdu.KindLabel, `00000001 00000002 00000000 00000001 ffffffff 000000ff 00000824 00000002` + strings.Repeat("00", 2040) + "7b7d", "nlabels at offset 32"},
	{"labels beyond the end", pdu.KindLabel, `00000001 00000002 00000000 00000001 ffffffff 00000001 0000002c 00000002 7b7d`, "nlabels at offset 32"},
	{"name outside its text", pdu.KindLabel, `00000001 00000002 00000000 00000001 ffffffff 00000001 00000034 00000002 00020100 00010001 7b7d`, "label at offset 44"},
	{"value outside its text", pdu.KindLabel, `00000001 00000002 00000000 00000001 ffffffff 00000001 00000034 00000002 00010100 00010002 7b7d`, "label at offset 44"},
	{"second set cut", pdu.KindLabel, `00000001 00000002 00000000 00000002 ffffffff 00000001 0000003c 00000000 00000000 00000000 00000000 00000000`, "json offset at offset 60"},
	{"shared text", pdu.KindLabel, `00000001 00000002 00000000 00000003
		00000000 00000000 0000004c 0000002a 00000001 00000000 0000004c 0000002a 00000002 00000000 0000004c 0000002a ` +
		strings.Repeat("20", 42), "json at offset 76: texts overlap"},
	{"trailing word", pdu.KindLabel, `00000001 00000002 00000000 00000001 ffffffff 00000000 0000002c 00000002 7b7d7e7e 7e`, "end at offset 46"},
	{"bytes without sets", pdu.KindLabel, `00000001 00000002 00000000 00000000 7e`, "end at offset 28"},
}

// TestDecodeMalformed: every malformed body is ErrIPC with its place, and leaves a zero value,
// even in a used value.
func TestDecodeMalformed(t *testing.T) {
	used := map[pdu.Kind]string{pdu.KindResult: storeOfString, pdu.KindHighResResult: fetchOfLoad}
	for _, tt := range codecTests {
		used[tt.pdu.Kind()] = tt.wire
	}
	for _, tt := range malformedTests {
		t.Run(tt.kind.String()+"/"+tt.name, func(t *testing.T) {
			body := unhex(t, tt.body)
			if p, err := pdu.Decode(tt.kind, body); p != nil || err == nil {
				t.Fatalf("Decode = %v, %v", p, err)
			}
			p, err := pdu.Decode(tt.kind, unhex(t, used[tt.kind])[pdu.HeaderLen:])
			if err != nil {
				t.Fatal(err)
			}
			err = p.(codec).Decode(body)
			if _, ok := p.(*pdu.Challenge); ok && len(body) != 8 {
				err = new(pdu.Status).Decode(body) // as Decode chooses
				p = new(pdu.Status)
			}
			if !errors.Is(err, pdu.ErrIPC) {
				t.Fatalf("error %v, want ErrIPC", err)
			}
			if op, ok := errors.AsType[*pdu.OpError](err); !ok || op.Op != "decode" || op.Kind != tt.kind {
				t.Errorf("error %v does not say what failed", err)
			}
			if want := "pdu: decode " + tt.kind.String() + ": " + tt.want; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %q, want %q…", err, want)
			}
			if r, ok := p.(*pdu.Result); ok {
				if r.Len() != 0 || !r.Time.IsZero() || r.Changed != 0 || r.Kind() != tt.kind {
					t.Errorf("the result is not zero: %d sets at %v", r.Len(), r.Time)
				}
				return
			}
			zero := reflect.New(reflect.TypeOf(p).Elem()).Interface()
			if f, ok := zero.(*pdu.Fetch); ok {
				f.HighRes = tt.kind == pdu.KindHighResFetch
			}
			if diff := cmp.Diff(zero, p, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the value is not zero (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChallengeMalformed: Challenge.Decode rejects a body that is not a valid challenge.
func TestChallengeMalformed(t *testing.T) {
	for body, want := range map[string]string{
		``:                              "code at offset 12",
		`00000000`:                      "version at offset 16",
		`00000000 02`:                   "licensed at offset 17",
		`00000000 0201`:                 "features at offset 18",
		`00000000 02010e44 00`:          "end at offset 20",
		`fffffbee 00000000 00000000 00`: "end at offset 20",
	} {
		p := pdu.Challenge{Code: 1, Version: 2, Features: 3}
		err := p.Decode(unhex(t, body))
		if !errors.Is(err, pdu.ErrIPC) || !strings.HasPrefix(err.Error(), "pdu: decode ERROR: "+want) {
			t.Errorf("%q: error %v, want %s", body, err, want)
		}
		if diff := cmp.Diff(pdu.Challenge{}, p); diff != "" {
			t.Errorf("%q (-want +got):\n%s", body, diff)
		}
	}
}

// TestDecodeUnknownKind decodes PDUs of unknown and of retired kinds.
func TestDecodeUnknownKind(t *testing.T) {
	for _, k := range []pdu.Kind{pdu.KindControlReq, 0x700b, 0x7018, 0, -1, 0x8000} {
		p, err := pdu.Decode(k, nil)
		if p != nil || !errors.Is(err, pdu.ErrIPC) {
			t.Errorf("Decode(%v) = %v, %v", k, p, err)
		}
	}
}

// wantIPC wants an ErrIPC whose text begins with want.
func wantIPC(t *testing.T, op string, err error, want string) {
	t.Helper()
	if !errors.Is(err, pdu.ErrIPC) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%s: error %v, want %s…", op, err, want)
	}
}
