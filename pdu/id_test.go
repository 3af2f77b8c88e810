package pdu

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPMID(t *testing.T) {
	for _, tt := range []struct {
		id   PMID
		text string
	}{
		{MakePMID(60, 2, 0), "60.2.0"},
		{MakePMID(29, 0, 10), "29.0.10"},
		{MakePMID(511, 1, 3), "511.1.3"},
		{MakePMID(510, 4095, 1023), "510.4095.1023"},
		{DynamicRoot(29), "29.*.*"},
		{NoPMID, "PM_ID_NULL"},
	} {
		if got := tt.id.String(); got != tt.text {
			t.Errorf("%#x: got %q, want %q", uint32(tt.id), got, tt.text)
		}
		if got, err := ParsePMID(tt.text); err != nil || got != tt.id {
			t.Errorf("%q: got %#x, %v", tt.text, uint32(got), err)
		}
	}
	if got := MakePMID(60, 2, 0); got != 0x0f000800 || got.Domain() != 60 || got.Cluster() != 2 || got.Item() != 0 {
		t.Errorf("60.2.0 is %#x", uint32(got))
	}
}

func TestPMIDKinds(t *testing.T) {
	type kind struct {
		Root            Domain
		IsRoot          bool
		Derived, Logged bool
	}
	for id, want := range map[PMID]kind{
		MakePMID(60, 2, 0):       {},
		DynamicRoot(29):          {Root: 29, IsRoot: true},
		MakePMID(511, 1, 3):      {Derived: true},
		MakePMID(511, 2048+1, 3): {Derived: true, Logged: true},
		NoPMID:                   {},
	} {
		var got kind
		got.Root, got.IsRoot = id.IsDynamicRoot()
		got.Derived, got.Logged = id.IsDerived(), id.IsLoggedDerived()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got)\n%s", id, diff)
		}
	}
}

func TestParseIDErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":           `PMID "": want domain.cluster.item`,
		"1.2":        `PMID "1.2": want domain.cluster.item`,
		"1.2.3.4":    `PMID "1.2.3.4": want domain.cluster.item`,
		"512.0.0":    `PMID "512.0.0": domain: 512 out of range (0..511)`,
		"1.4096.0":   `PMID "1.4096.0": cluster: 4096 out of range (0..4095)`,
		"1.0.1024":   `PMID "1.0.1024": item: 1024 out of range (0..1023)`,
		"1.-1.0":     `PMID "1.-1.0": cluster: "-1" is not a number`,
		"x.*.*":      `PMID "x.*.*": domain: "x" is not a number`,
		"pm_id_null": `PMID "pm_id_null": want domain.cluster.item`,
	} {
		if id, err := ParsePMID(text); err == nil || err.Error() != want || id != NoPMID {
			t.Errorf("%q: got %v, %v", text, id, err)
		}
	}
	for text, want := range map[string]string{
		"60":        `instance domain "60": want domain.serial`,
		"512.0":     `instance domain "512.0": domain: 512 out of range (0..511)`,
		"1.4194304": `instance domain "1.4194304": serial: 4194304 out of range (0..4194303)`,
		"1.1.1":     `instance domain "1.1.1": serial: "1.1" is not a number`,
	} {
		if id, err := ParseInDom(text); err == nil || err.Error() != want || id != NoInDom {
			t.Errorf("%q: got %v, %v", text, id, err)
		}
	}
}

func TestInDom(t *testing.T) {
	for _, tt := range []struct {
		id   InDom
		text string
	}{{MakeInDom(60, 1), "60.1"}, {MakeInDom(511, MaxInDomSerial), "511.4194303"}, {NoInDom, "PM_INDOM_NULL"}} {
		if got := tt.id.String(); got != tt.text {
			t.Errorf("%#x: got %q, want %q", uint32(tt.id), got, tt.text)
		}
		if got, err := ParseInDom(tt.text); err != nil || got != tt.id {
			t.Errorf("%q: got %#x, %v", tt.text, uint32(got), err)
		}
	}
}

func TestIDFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, c, i := rapid.IntRange(0, 511).Draw(t, "domain"), rapid.IntRange(0, MaxCluster).Draw(t, "cluster"), rapid.IntRange(0, MaxItem).Draw(t, "item")
		p := MakePMID(Domain(d), c, i)
		if int(p.Domain()) != d || p.Cluster() != c || p.Item() != i || p>>31 != 0 {
			t.Fatalf("%d.%d.%d is %#x", d, c, i, uint32(p))
		}
		if back, err := ParsePMID(p.String()); err != nil || back != p {
			t.Fatalf("%v is %#x, %v", p, uint32(back), err)
		}
		s := rapid.IntRange(0, MaxInDomSerial).Draw(t, "serial")
		n := MakeInDom(Domain(d), s)
		if int(n.Domain()) != d || n.Serial() != s {
			t.Fatalf("%d.%d is %#x", d, s, uint32(n))
		}
		if back, err := ParseInDom(n.String()); err != nil || back != n {
			t.Fatalf("%v is %#x, %v", n, uint32(back), err)
		}
	})
}

func TestBitNames(t *testing.T) {
	for got, want := range map[string]string{
		(TextOneLine | TextPMID).String():            "oneline,pmid",
		(TextHelp | TextInDom | TextDirect).String(): "help,indom,direct",
		TextKind(0).String():                         "0x0",
		(TextHelp | 64).String():                     "help,0x40",
		(ChangeAddAgent | ChangeNames).String():      "add agent,names",
		Change(0).String():                           "none",
		Change(0x80).String():                        "0x80",
		(ChangeDropAgent | ChangeRestartAgent | ChangeLabels | ChangeHostname).String(): "restart agent,drop agent,labels,hostname",
		(EventStart | EventID).String(): "start,id",
		EventMissed.String():            "missed",
		EventFlags(0x20).String():       "",
		Type64.String():                 "64",
		TypeNoSupport.String():          "NO_SUPPORT",
		TypeUnknown.String():            "UNKNOWN",
		Type(11).String():               "???",
		SemCounter.String() + SemInstant.String() + SemDiscrete.String(): "counterinstantdiscrete",
		Sem(2).String(): "???",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
