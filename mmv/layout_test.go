package mmv

import (
	"testing"
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
	for flags, want := range map[fileFlags]string{
		0: "none", flagProcess: "process", flagNoPrefix | flagSentinel: "noprefix, sentinel",
		flagProcess | 0x108: "process, unknown=108", 0x8: "unknown=8",
	} {
		if got := flags.String(); got != want {
			t.Errorf("flags %#x: %q, want %q", uint32(flags), got, want)
		}
	}
}

func TestType(t *testing.T) {
	for typ, want := range map[valueType]struct {
		text  string
		known bool
	}{
		typeNoSupport: {"NO_SUPPORT", true},
		typeU64:       {"U64", true},
		typeString:    {"STRING", true},
		7:             {"AGGREGATE", false},
		8:             {"AGGREGATE_STATIC", false},
		typeElapsed:   {"ELAPSED", true},
		10:            {"HIGHRES_EVENT", false},
		42:            {"???", false},
		-2:            {"???", false},
	} {
		if typ.String() != want.text || typ.isKnown() != want.known {
			t.Errorf("type %d: %v, known %v", int32(typ), typ, typ.isKnown())
		}
	}
}
