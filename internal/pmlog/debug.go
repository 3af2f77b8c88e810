package pmlog

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// DebugNames are the debug options of PCP 6.0.3, in the order of pmdbg(1).
var DebugNames = strings.Fields(`pdu fetch profile value context indom pdubuf log logmeta optfetch af appl0 appl1 appl2
	pmns libpmda timecontrol pmc derive lock interp config pmapi fault auth discovery attr http desperate deprecated exec
	labels series libweb alloc services appl3 appl4 appl5 access qa search query compress dev0 dev1 dev2 pmlc appl6 appl7
	appl8 appl9 tls`)

// ParseDebug splits the argument of -D into names of debug options: names separated by commas, in
// either case. A number in place of a name, the sum of bits of older versions, it returns as it is.
// ok is false for what pmSetDebug(3) refuses.
func ParseDebug(spec string) (names []string, ok bool) {
	if spec == "" {
		return nil, true
	}
	spec = strings.TrimSuffix(strings.ToLower(spec), ",")
	for name := range strings.SplitSeq(spec, ",") {
		if _, number := parseBits(name); !number && name != "all" && !slices.Contains(DebugNames, name) {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// parseBits parses a sum of bits as strtol(3) does: blanks and a sign may be before it, and one
// that is too large for 64 bits is the next that is not. Of its bits 32 remain: those of -1 are all
// set.
func parseBits(text string) (bits uint32, ok bool) {
	n, err := strconv.ParseInt(strings.TrimLeft(text, " \t\n\v\f\r"), 10, 64)
	return uint32(n), err == nil || errors.Is(err, strconv.ErrRange)
}

// DebugOn is the options that the names of ParseDebug stand for: "all" are all, and a number is
// what DebugBits makes of it.
func DebugOn(names []string) map[string]bool {
	on := map[string]bool{}
	for _, name := range names {
		options := []string{name}
		if bits, ok := parseBits(name); ok {
			options = DebugBits(bits)
		} else if name == "all" {
			options = DebugNames
		}
		for _, o := range options {
			on[o] = true
		}
	}
	return on
}

// desperateBit is the bit of the option desperate.
const desperateBit = 1 << 30

// DebugBits is the options that the bits of a number stand for: those of older versions, which are
// all up to http, and desperate.
func DebugBits(bits uint32) (names []string) {
	for i, o := range DebugNames[:slices.Index(DebugNames, "http")+1] {
		if bits&(1<<i) != 0 {
			names = append(names, o)
		}
	}
	if bits&desperateBit != 0 {
		names = append(names, "desperate")
	}
	return names
}
