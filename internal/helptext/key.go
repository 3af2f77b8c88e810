package helptext

import (
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
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
		if n[found], rest, ok = scan.Int(rest); !ok {
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
