package helptext

import (
	"math"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// ParseKey is what the key of an entry stands for if it is made of numbers:
// DOMAIN.CLUSTER.ITEM a metric, DOMAIN.SERIAL an instance domain. Like newhelp(1) it
// ignores what follows the numbers, and takes as many bits of them as there are.
func ParseKey(key string) (of pdu.TextTarget, ok bool) {
	var n [3]int64
	found := 0
	for rest := key; found < len(n); found++ {
		if found > 0 {
			if rest, ok = strings.CutPrefix(rest, "."); !ok {
				break
			}
		}
		if n[found], rest, ok = leadingInt(rest); !ok {
			break
		}
	}
	switch d := pdu.Domain(n[0] & int64(pdu.DynamicDomain)); found {
	case 2:
		return pdu.TextOfInDom(pdu.MakeInDom(d, int(n[1]&pdu.MaxInDomSerial))), true
	case 3:
		return pdu.TextOfMetric(pdu.MakePMID(d, int(n[1]&pdu.MaxCluster), int(n[2]&pdu.MaxItem))), true
	}
	return pdu.TextTarget{}, false
}

// leadingInt is the decimal number at the beginning of s, with a sign or without, and
// what follows. A number that is out of range becomes the nearest one.
func leadingInt(s string) (n int64, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	digits, negative := s, strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		digits = s[1:]
	}
	end := 0
	for ; end < len(digits) && '0' <= digits[end] && digits[end] <= '9'; end++ {
		d := int64(digits[end] - '0')
		switch {
		case n > (math.MaxInt64-d)/10:
			n = math.MaxInt64
		case n < math.MaxInt64:
			n = 10*n + d
		}
	}
	if negative {
		if n == math.MaxInt64 {
			n = math.MinInt64
		}
		n = -n
	}
	return n, digits[end:], end > 0
}
