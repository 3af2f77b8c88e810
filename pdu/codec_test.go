package pdu_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/pdu"
)

// A codec is a PDU that can be decoded, too.
type codec interface {
	pdu.PDU
	Decode(body []byte) error
}

// unhex reads hex digits with spaces; text between quotes stands for itself.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	var b []byte
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 1 {
			b = append(b, part...)
			continue
		}
		h, err := hex.DecodeString(strings.Join(strings.Fields(part), ""))
		if err != nil {
			t.Fatalf("test data %.40q: %v", part, err)
		}
		b = append(b, h...)
	}
	return b
}

// encode is the body of p.
func encode(t fataler, p pdu.PDU) []byte {
	t.Helper()
	b, err := p.Append(make([]byte, pdu.HeaderLen))
	if err != nil {
		t.Fatalf("Append(%+v): %v", p, err)
	}
	return b[pdu.HeaderLen:]
}

// A fataler is a testing.TB or a rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// stream holds bytes to read, and records the bytes written.
type stream struct {
	bytes.Reader
	bytes.Buffer
}

func newStream(b []byte) *stream {
	s := new(stream)
	s.Reader.Reset(b)
	return s
}

func (s *stream) Read(p []byte) (int, error)  { return s.Reader.Read(p) }
func (s *stream) Write(p []byte) (int, error) { return s.Buffer.Write(p) }

const allFeatures = pdu.FeatureAuth | pdu.FeatureContainer | pdu.FeatureLabels | pdu.FeatureHighRes | pdu.FeatureDescs

// codecTests are PDUs with their bytes as C programs send them, unless the name
// says otherwise.
var codecTests = []struct {
	name string
	from int32
	pdu  codec
	wire string
}{
	{"challenge", 0, &pdu.Challenge{Version: 2, Features: allFeatures},
		`00000014 00007000 00000000 00000000 02010e44`},
	{"refusal", 0, &pdu.Challenge{Code: pdu.ErrPermission},
		`00000014 00007000 00000000 fffffbee 00000000`},
	{"refusal by limit", 0, &pdu.Challenge{Code: pdu.ErrConnLimit},
		`00000014 00007000 00000000 fffffbed 00000000`},
	{"refusal by errno", 0, &pdu.Challenge{Code: -12},
		`00000014 00007000 00000000 fffffff4 00000000`},
	{"error", 0, &pdu.Status{Code: pdu.ErrPMID}, `00000010 00007000 00000000 ffffcfba`},
	{"no profile", 0, &pdu.Status{Code: pdu.ErrNoProfile}, `00000010 00007000 00000000 ffffcfa3`},
	{"success", 0, &pdu.Status{}, `00000010 00007000 00000000 00000000`},
	{"change", 0, &pdu.Status{Code: pdu.Error(pdu.ChangeDropAgent)}, `00000010 00007000 00000000 00000004`},
	{"end of context", 3, &pdu.Status{Code: pdu.ErrNotConn}, `00000010 00007000 00000003 ffffcf99`},
	{"creds of a client", 0x751e, &pdu.Creds{Version: 2},
		`00000014 0000700c 0000751e 00000001 01020000`},
	{"creds of an agent", 0x359, &pdu.Creds{Version: 2, Features: pdu.FeatureAuth},
		`00000014 0000700c 00000359 00000001 01020004`},
	{"creds unknown (made)", 1, &pdu.Creds{Version: 2, Others: []uint32{0x07000001}},
		`00000018 0000700c 00000001 00000002 01020000 07000001`},
	{"traverse", 0, &pdu.TraverseReq{Name: "hinv.ncpu"},
		`00000020 00007010 00000000 00000000 00000009 "hinv.ncpu~~~"`},
	{"traverse all", 0, &pdu.TraverseReq{}, `00000014 00007010 00000000 00000000 00000000`},
	{"names", 0, &pdu.NameList{Names: []string{"hinv.ncpu"}},
		`00000028 0000700e 00000000 0000000a 00000000 00000001 00000009 "hinv.ncpu~~~"`},
	{"no names", 0, &pdu.NameList{}, `00000018 0000700e 00000000 00000000 00000000 00000000`},
	{"names with statuses", 0, &pdu.NameList{Names: []string{"foo", "bar"}, Statuses: []int32{pdu.NonLeaf, pdu.Leaf}},
		`00000030 0000700e 00000000 00000008 00000002 00000002 00000001 00000003 "foo~" 00000000 00000003 "bar~"`},
	{"names error (7.x, made)", 0, &pdu.NameList{Err: pdu.ErrAgain},
		`00000018 0000700e 00000000 00000000 00000000 ffffcf9b`},
	{"ids", 0, &pdu.PMIDList{Status: 1, PMIDs: []pdu.PMID{0x0f000020}},
		`00000018 0000700d 00000000 00000001 00000001 0f000020`},
	{"ids of two, one known", 0, &pdu.PMIDList{Status: 1, PMIDs: []pdu.PMID{pdu.NoPMID, 0x0f000020}},
		`0000001c 0000700d 00000000 00000001 00000002 ffffffff 0f000020`},
	{"child", 0x1092, &pdu.ChildReq{Name: "sample.secret", Status: true},
		`00000024 0000700f 00001092 00000001 0000000d "sample.secret~~~"`},
	{"child of the root", 0, &pdu.ChildReq{}, `00000014 0000700f 00000000 00000000 00000000`},
	{"desc request", 0, &pdu.DescReq{PMID: 0x0f000020}, `00000010 00007004 00000000 0f000020`},
	{"desc", 0, &pdu.DescReply{Desc: pdu.Desc{PMID: 0x0f000020, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}},
		`00000020 00007005 00000000 0f000020 00000001 ffffffff 00000004 00000000`},
	{"descs request", 0x1092, &pdu.DescsReq{PMIDs: []pdu.PMID{0x00800800, 0x00818c63, 0x0f000014}},
		`00000020 00007016 00001092 ffffffff 00000003 00800800 00818c63 0f000014`},
	{"descs", 0, &pdu.DescsReply{Descs: []pdu.Desc{
		{PMID: 0x00800800, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.UnitCount},
		{PMID: pdu.NoPMID},
		{PMID: 0x0f000014, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.TimeMSec},
	}}, `0000004c 00007017 00000000 00000003
		00800800 00000001 ffffffff 00000001 00100000
		ffffffff 00000000 00000000 00000000 00000000
		0f000014 00000003 ffffffff 00000001 01002000`},
	{"profile", 0, &pdu.SetProfile{}, `0000001c 00007002 00000000 00000000 00000000 00000000 00000000`},
	{"profile that excludes (observed entry)", 0, &pdu.SetProfile{Profile: pdu.Profile{
		InDoms: []pdu.InDomProfile{{InDom: 0x0f000002, Exclude: true}}}},
		`0000002c 00007002 00000000 00000000 00000000 00000001 00000000 0f000002 00000001 00000000 00000000`},
	{"profile of two domains (made)", 0, &pdu.SetProfile{Context: 5, Profile: pdu.Profile{Exclude: true,
		InDoms: []pdu.InDomProfile{
			{InDom: 0x0f000001, Insts: []pdu.InstID{-7, 4}},
			{InDom: 0x0f000002, Exclude: true, Insts: []pdu.InstID{1, 5, 15}}}}},
		`00000050 00007002 00000000 00000005 00000001 00000002 00000000
		0f000001 00000000 00000002 00000000 0f000002 00000001 00000003 00000000
		fffffff9 00000004 00000001 00000005 0000000f`},
	{"fetch", 0x1092, &pdu.Fetch{PMIDs: []pdu.PMID{0x00800000, 0x00818c00, 0x64000401}},
		`00000028 00007003 00001092 00000000 00000000 00000000 00000003 00800000 00818c00 64000401`},
	{"high-resolution fetch", 0, &pdu.Fetch{HighRes: true, PMIDs: []pdu.PMID{0x0f000800, 0x0f000020}},
		`00000024 00007014 00000000 00000000 00000000 00000000 00000002 0f000800 0f000020`},
	{"instances, all", 0x1092, &pdu.InstanceReq{InDom: 0x0f000002, Inst: pdu.NoInst},
		`00000020 00007006 00001092 0f000002 00000000 00000000 ffffffff 00000000`},
	{"instances reply, all", 0, &pdu.InstanceReply{InDom: 0x0f000002, Instances: []pdu.Instance{
		{ID: 1, Name: "1 minute"}, {ID: 5, Name: "5 minute"}, {ID: 15, Name: "15 minute"}}},
		`00000048 00007007 00000000 0f000002 00000003
		00000001 00000008 "1 minute" 00000005 00000008 "5 minute" 0000000f 00000009 "15 minute~~~"`},
	{"instances, by id", 0x1092, &pdu.InstanceReq{InDom: 0x0f000002, Inst: 5},
		`00000020 00007006 00001092 0f000002 00000000 00000000 00000005 00000000`},
	{"instances reply, by id", 0, &pdu.InstanceReply{InDom: 0x0f000002, Instances: []pdu.Instance{{ID: pdu.NoInst, Name: "5 minute"}}},
		`00000024 00007007 00000000 0f000002 00000001 ffffffff 00000008 "5 minute"`},
	{"instances, by name", 0x1092, &pdu.InstanceReq{InDom: 0x0f000002, Inst: pdu.NoInst, Name: "1 minute"},
		`00000028 00007006 00001092 0f000002 00000000 00000000 ffffffff 00000008 "1 minute"`},
	{"instances reply, by name", 0, &pdu.InstanceReply{InDom: 0x0f000002, Instances: []pdu.Instance{{ID: 1}}},
		`0000001c 00007007 00000000 0f000002 00000001 00000001 00000000`},
	{"text request", 0x1092, &pdu.TextReq{Ident: 0x0f000002, Text: pdu.TextOneLine | pdu.TextInDom},
		`00000014 00007008 00001092 0f000002 00000009`},
	{"text (short, made)", 0, &pdu.TextReply{Ident: 0x0200000f, Text: "load averages"},
		`00000024 00007009 00000000 0200000f 0000000d "load averages~~~"`},
	{"text, none", 0, &pdu.TextReply{Ident: 0x0f000002}, `00000014 00007009 00000000 0f000002 00000000`},
	{"process id", 0, &pdu.Attr{Key: pdu.AttrProcessID, Value: []byte("2135\x00")},
		`00000015 00007011 00000000 0000000e "2135" 00`},
	{"mechanisms", 0, &pdu.Attr{Value: []byte("PLAIN LOGIN SCRAM-SHA-256")},
		`00000029 00007011 00000000 00000000 "PLAIN LOGIN SCRAM-SHA-256"`},
	{"plain", 0, &pdu.Attr{Value: []byte("PLAIN\x00joe\x00joe\x00secret")},
		`00000024 00007011 00000000 00000000 "PLAIN" 00 "joe" 00 "joe" 00 "secret"`},
	{"container", 0, &pdu.Attr{Key: pdu.AttrContainer, Value: []byte("abc")}, `00000013 00007011 00000000 0000000f "abc"`},
	{"attribute without a value", 0, &pdu.Attr{}, `00000010 00007011 00000000 00000000`},
	{"label request", 0x1092, &pdu.LabelReq{Ident: 29, Class: pdu.LabelDomain},
		`00000014 00007012 00001092 0000001d 00000002`},
	{"labels", 0, &pdu.LabelReply{Ident: 29, Class: pdu.LabelDomain, Sets: []pdu.LabelSet{{
		Inst: pdu.NoInst, JSON: []byte(`{"agent":"sample","role":"testing"}`),
		Labels: []pdu.Label{
			{NameOff: 2, NameLen: 5, Flags: 2, ValueOff: 9, ValueLen: 8},
			{NameOff: 19, NameLen: 4, Flags: 2, ValueOff: 25, ValueLen: 9}}}}},
		`0000005f 00007013 00000000 0000001d 00000002 00000000 00000001
		ffffffff 00000002 0000003c 00000023 0002 05 02 0009 0008 0013 04 02 0019 0009
		7b 22 "agent" 22 3a 22 "sample" 22 2c 22 "role" 22 3a 22 "testing" 22 7d`},
	{"no labels", 0, &pdu.LabelReply{Ident: 0x0f000002, Class: pdu.LabelInDom},
		`0000001c 00007013 00000000 0f000002 00000004 00000000 00000000`},
	{"labels of instances, one without, one failed (made)", 0, &pdu.LabelReply{Ident: 0x0f000002, Class: pdu.LabelInstances,
		Sets: []pdu.LabelSet{
			{Inst: 0, JSON: []byte(`{"a":1}`), Labels: []pdu.Label{{NameOff: 2, NameLen: 1, Flags: 0x20, ValueOff: 5, ValueLen: 1}}},
			{Inst: 1},
			{Inst: 2, Err: pdu.ErrInst},
			{Inst: 3, JSON: []byte(`{}`)}}},
		`0000006d 00007013 00000000 0f000002 00000020 00000000 00000004
		00000000 00000001 00000064 00000007 00020120 00050001
		00000001 00000000 0000006b 00000000
		00000002 ffffcfb8 0000006b 00000000
		00000003 00000000 0000006b 00000002
		7b 22 61 22 3a 31 7d 7b 7d`},
}

func TestCodec(t *testing.T) {
	for _, tt := range codecTests {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.wire)
			s := newStream(want)
			c := pdu.NewConn(s)
			if err := c.Write(tt.from, tt.pdu); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, s.Bytes()); diff != "" {
				t.Errorf("bytes (-want +got):\n%s", diff)
			}
			h, body, err := c.Read()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(pdu.Header{Len: len(want), Kind: tt.pdu.Kind(), From: tt.from}, h); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			got, err := pdu.Decode(h.Kind, body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(pdu.PDU(tt.pdu), got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecodeReuse: decoding into a used value leaves no trace of its earlier contents.
func TestDecodeReuse(t *testing.T) {
	used := map[reflect.Type]codec{}
	for range 2 {
		for _, tt := range codecTests {
			typ := reflect.TypeOf(tt.pdu).Elem()
			p := used[typ]
			if p == nil {
				p = reflect.New(typ).Interface().(codec)
				used[typ] = p
			}
			if f, ok := p.(*pdu.Fetch); ok {
				f.HighRes = tt.pdu.(*pdu.Fetch).HighRes
			}
			for range 2 { // the second time, all slices have the right size already
				if err := p.Decode(unhex(t, tt.wire)[pdu.HeaderLen:]); err != nil {
					t.Fatalf("%s: %v", tt.name, err)
				}
			}
			if diff := cmp.Diff(tt.pdu, p, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	}
}

// TestDecodeLenient decodes accepted forms that are not canonical.
func TestDecodeLenient(t *testing.T) {
	tests := []struct {
		name string
		kind pdu.Kind
		body string
		want codec
	}{
		{"profile without its padding (7.x)", pdu.KindProfile, `00000000 00000001 00000000`,
			&pdu.SetProfile{Profile: pdu.Profile{Exclude: true}}},
		{"profile in disorder, an entry twice, the first counts", pdu.KindProfile, `00000000 00000000 00000003 00000000
			0f000002 00000001 00000003 00000000 0f000001 00000000 00000000 00000000 0f000002 00000000 00000001 00000000
			00000005 00000001 00000005 00000009`,
			&pdu.SetProfile{Profile: pdu.Profile{InDoms: []pdu.InDomProfile{
				{InDom: 0x0f000001}, {InDom: 0x0f000002, Exclude: true, Insts: []pdu.InstID{1, 5}}}}}},
		{"name not padded", pdu.KindPMNSTraverse, `00000000 00000005 "hello"`, &pdu.TraverseReq{Name: "hello"}},
		{"any subtype but 0", pdu.KindPMNSChild, `ffffffff 00000004 "pmcd"`, &pdu.ChildReq{Name: "pmcd", Status: true}},
		{"name padded with anything", pdu.KindPMNSChild, `00000000 00000005 "hello" 000102`, &pdu.ChildReq{Name: "hello"}},
		{"instance name not padded (6.0.3)", pdu.KindInstanceReq, `0f000002 00000000 00000000 ffffffff 00000001 "x"`,
			&pdu.InstanceReq{InDom: 0x0f000002, Inst: pdu.NoInst, Name: "x"}},
		{"text not padded", pdu.KindText, `0f000002 00000001 "x"`, &pdu.TextReply{Ident: 0x0f000002, Text: "x"}},
		{"retired timestamp", pdu.KindFetch, `00000000 00000001 00000002 00000001 00000007`, &pdu.Fetch{PMIDs: []pdu.PMID{7}}},
		{"version 0 is no version", pdu.KindCreds, `00000001 01000004`, &pdu.Creds{Others: []uint32{0x01000004}}},
		{"two versions, the last counts", pdu.KindCreds, `00000002 01020004 01020040`,
			&pdu.Creds{Version: 2, Features: pdu.FeatureContainer}},
		{"more name bytes announced", pdu.KindPMNSNames, `00000010 00000000 00000001 00000001 "x~~~"`,
			&pdu.NameList{Names: []string{"x"}}},
		{"empty names", pdu.KindPMNSNames, `00000002 00000000 00000002 00000000 00000000`, &pdu.NameList{Names: []string{"", ""}}},
		{"labels padded", pdu.KindLabel, `00000000 00000001 00000000 00000001 ffffffff 00000000 0000002c 00000002 7b7d 7e7e`,
			&pdu.LabelReply{Class: pdu.LabelContext, Sets: []pdu.LabelSet{{Inst: pdu.NoInst, JSON: []byte("{}")}}}},
		{"offset of no labels", pdu.KindLabel, `00000000 00000001 00000000 00000001 ffffffff 00000000 00000000 00000000`,
			&pdu.LabelReply{Class: pdu.LabelContext, Sets: []pdu.LabelSet{{Inst: pdu.NoInst}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := pdu.Decode(tt.kind, unhex(t, tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(pdu.PDU(tt.want), got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEncodeRefuses: Append refuses a value with a field that its layout cannot hold, and keeps
// the bytes encoded before.
func TestEncodeRefuses(t *testing.T) {
	tests := []struct {
		name string
		pdu  pdu.PDU
		want error
		text string
	}{
		{"fetch of nothing", pdu.Fetch{}, pdu.ErrTooSmall, "pdu: encode FETCH: no PMIDs: Insufficient elements in list"},
		{"high-resolution fetch of nothing", pdu.Fetch{HighRes: true}, pdu.ErrTooSmall, "pdu: encode HIGHRES_FETCH: no PMIDs: Insufficient elements in list"},
		{"descs of nothing", pdu.DescsReq{}, pdu.ErrTooSmall, "pdu: encode DESC_IDS: no PMIDs: Insufficient elements in list"},
		{"no credentials", pdu.Creds{}, pdu.ErrIPC, "pdu: encode CREDS: number of credentials not in 1..1024: IPC protocol failure"},
		{"1025 credentials", pdu.Creds{Version: 2, Others: make([]uint32, 1024)}, pdu.ErrIPC, "pdu: encode CREDS: number of credentials not in 1..1024: IPC protocol failure"},
		{"features without a version", pdu.Creds{Features: pdu.FeatureAuth, Others: []uint32{1}}, pdu.ErrIPC, "pdu: encode CREDS: features without a version: IPC protocol failure"},
		{"statuses of some", pdu.NameList{Names: []string{"a", "b"}, Statuses: []int32{0}}, pdu.ErrIPC, "pdu: encode PMNS_NAMES: number of statuses is not that of names: IPC protocol failure"},
		{"negative context", pdu.SetProfile{Context: -1}, pdu.ErrNoContext, "pdu: encode PROFILE: negative context: Attempt to use an illegal context"},
		{"long attribute", pdu.Attr{Key: pdu.AttrContainer, Value: make([]byte, 4096)}, pdu.ErrTooBig, "pdu: encode ATTR: value too long: Result size exceeded"},
		{"long SASL payload", pdu.Attr{Value: make([]byte, 2048)}, pdu.ErrTooBig, "pdu: encode ATTR: value too long: Result size exceeded"},
		{"label outside its text", pdu.LabelReply{Sets: []pdu.LabelSet{{JSON: []byte("{}"), Labels: []pdu.Label{{ValueOff: 1, ValueLen: 2}}}}}, pdu.ErrIPC, ""},
		{"long label text", pdu.LabelReply{Sets: []pdu.LabelSet{{JSON: make([]byte, 65535)}}}, pdu.ErrIPC, ""},
		{"many labels", pdu.LabelReply{Sets: []pdu.LabelSet{{JSON: []byte("{}"), Labels: make([]pdu.Label, 255)}}}, pdu.ErrIPC, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStream(nil)
			c := pdu.NewConn(s)
			if err := c.Queue(0, pdu.DescReq{PMID: 7}); err != nil {
				t.Fatal(err)
			}
			err := c.Write(0, tt.pdu)
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if op, ok := errors.AsType[*pdu.OpError](err); !ok || op.Op != "encode" || op.Kind != tt.pdu.Kind() {
				t.Errorf("error %v does not say what failed", err)
			}
			if tt.text != "" && err != nil && err.Error() != tt.text {
				t.Errorf("error %q, want %q", err, tt.text)
			}
			if err := c.Flush(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(unhex(t, `00000010 00007004 00000000 00000007`), s.Bytes()); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEncodeLimits encodes values at their limits.
func TestEncodeLimits(t *testing.T) {
	for _, p := range []pdu.PDU{
		pdu.Attr{Key: pdu.AttrContainer, Value: make([]byte, 4095)},
		pdu.Attr{Value: make([]byte, 2047)},
		pdu.Creds{Version: 2, Others: make([]uint32, 1023)},
		pdu.LabelReply{Sets: []pdu.LabelSet{{JSON: make([]byte, 65534), Labels: make([]pdu.Label, 254)}}},
	} {
		if _, err := pdu.Decode(p.Kind(), encode(t, p)); err != nil {
			t.Errorf("%v at its limit: %v", p.Kind(), err)
		}
	}
}

// TestLabelErrorHasNoLabels: a set with an error has no labels, even if its field Labels has
// some.
func TestLabelErrorHasNoLabels(t *testing.T) {
	p := pdu.LabelReply{Class: pdu.LabelInstances, Sets: []pdu.LabelSet{
		{Err: pdu.ErrInst, JSON: []byte("{}"), Labels: []pdu.Label{{NameLen: 1}}},
		{Inst: 1, JSON: []byte(`{"a":1}`)}}}
	got, err := pdu.Decode(pdu.KindLabel, encode(t, p))
	if err != nil {
		t.Fatal(err)
	}
	p.Sets[0].Labels = nil
	if diff := cmp.Diff(pdu.PDU(&p), got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTextDirectStays: the flag TextDirect stays with the client, it is not sent.
func TestTextDirectStays(t *testing.T) {
	got := encode(t, pdu.TextReq{Ident: 1, Text: pdu.TextHelp | pdu.TextPMID | pdu.TextDirect})
	if diff := cmp.Diff(unhex(t, `00000001 00000006`), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKindString(t *testing.T) {
	for k, want := range map[pdu.Kind]string{
		pdu.KindError: "ERROR", pdu.KindResult: "RESULT", pdu.KindHighResFetch: "HIGHRES_FETCH",
		pdu.KindDescs: "DESCS", pdu.KindControlReq: "CONTROL_REQ", 0x700b: "TYPE-28683?", 0x7018: "TYPE-28696?", -1: "TYPE--1?",
	} {
		if got := k.String(); got != want {
			t.Errorf("Kind(%#x) = %q, want %q", int32(k), got, want)
		}
	}
}

func TestAttributeString(t *testing.T) {
	for a, want := range map[pdu.Attribute]string{
		pdu.Attribute(1): "protocol", pdu.AttrContainer: "container", 16: "exclusive",
		0: "attribute 0", 17: "attribute 17", -1: "attribute -1",
	} {
		if got := a.String(); got != want {
			t.Errorf("Attribute(%d) = %q, want %q", int32(a), got, want)
		}
	}
}

func TestStatusChange(t *testing.T) {
	for code, want := range map[pdu.Error]pdu.Change{
		0: 0, pdu.ErrPMID: 0, 20: pdu.ChangeDropAgent | pdu.ChangeNames,
	} {
		if got := (pdu.Status{Code: code}).Change(); got != want {
			t.Errorf("Change of %d = %v, want %v", code, got, want)
		}
	}
}

// TestInstanceAnswer decodes the C library's forms of replies about instances.
func TestInstanceAnswer(t *testing.T) {
	one, two := []pdu.Instance{{ID: 5, Name: "five"}}, []pdu.Instance{{ID: 5, Name: "five"}, {ID: 6, Name: "six"}}
	tests := []struct {
		name  string
		req   pdu.InstanceReq
		found []pdu.Instance
		want  []pdu.Instance
	}{
		{"by id", pdu.InstanceReq{InDom: 3, Inst: 5}, one, []pdu.Instance{{ID: pdu.NoInst, Name: "five"}}},
		{"by name", pdu.InstanceReq{InDom: 3, Inst: pdu.NoInst, Name: "five"}, one, []pdu.Instance{{ID: 5}}},
		{"all, which is one", pdu.InstanceReq{InDom: 3, Inst: pdu.NoInst}, one, one},
		{"all", pdu.InstanceReq{InDom: 3, Inst: pdu.NoInst}, two, two},
		{"none", pdu.InstanceReq{InDom: 3, Inst: pdu.NoInst}, nil, nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(pdu.InstanceReply{InDom: 3, Instances: tt.want}, tt.req.Reply(tt.found)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if one[0].Name != "five" || one[0].ID != 5 {
		t.Errorf("the list that was found has changed: %v", one)
	}
}
