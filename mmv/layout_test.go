package mmv

import (
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// TestLayout: the lengths of records are those of mmv_dev.h.
func TestLayout(t *testing.T) {
	for _, c := range []struct {
		version          Version
		metric, instance int
	}{{version1, 104, 80}, {version2, 48, 24}, {version3, 48, 24}} {
		if !c.version.valid() || c.version.metricLen() != c.metric || c.version.instanceLen() != c.instance {
			t.Errorf("version %d: valid %v, metrics of %d bytes, instances of %d", c.version, c.version.valid(),
				c.version.metricLen(), c.version.instanceLen())
		}
	}
	if Version(0).valid() || Version(4).valid() {
		t.Error("version 0 or 4 is valid")
	}
}

func TestFlagsString(t *testing.T) {
	for flags, want := range map[Flags]string{
		0: "none", FlagProcess: "process", FlagNoPrefix | FlagSentinel: "noprefix, sentinel",
		FlagProcess | 0x108: "process, unknown=108", 0x8: "unknown=8",
	} {
		if got := flags.String(); got != want {
			t.Errorf("flags %#x: %q, want %q", uint32(flags), got, want)
		}
	}
}

func TestType(t *testing.T) {
	for typ, want := range map[Type]struct {
		text  string
		pdu   pdu.Type
		known bool
	}{
		TypeNoSupport: {"NO_SUPPORT", pdu.TypeNoSupport, true},
		TypeU64:       {"U64", pdu.TypeU64, true},
		TypeString:    {"STRING", pdu.TypeString, true},
		7:             {"AGGREGATE", pdu.TypeAggregate, false},
		8:             {"AGGREGATE_STATIC", pdu.TypeAggregateStatic, false},
		TypeElapsed:   {"ELAPSED", pdu.Type64, true},
		10:            {"HIGHRES_EVENT", pdu.TypeHighResEvent, false},
		42:            {"???", 42, false},
		-2:            {"???", -2, false},
	} {
		if typ.String() != want.text || typ.PDU() != want.pdu || typ.isKnown() != want.known {
			t.Errorf("type %d: %v, %d, known %v", int32(typ), typ, typ.PDU(), typ.isKnown())
		}
	}
}
