package pdu

import (
	"fmt"
	"strconv"
	"strings"
)

// A Domain numbers an agent: the top field of every PMID and InDom that the
// agent owns. Valid agents have 0 to MaxDomain; the number above it is
// reserved for dynamic name-space roots and derived metrics.
type Domain int

// The greatest values of the fields of PMID and InDom, and the domain above
// those of agents.
const (
	MaxDomain      Domain = 510       // the highest domain that an agent may have
	DynamicDomain  Domain = 511       // of dynamic name-space roots and derived metrics
	MaxCluster            = 4095      // 12 bits
	MaxItem               = 1023      // 10 bits
	MaxInDomSerial        = 1<<22 - 1 // 22 bits
)

const (
	derivedLogged   = 2048 // cluster bit of a derived metric as an archive records it
	pmidDomainShift = 22
)

// A PMID identifies a metric: 9 bits of domain, 12 of cluster, 10 of item
// below a flag bit that is zero in real identifiers. It is pmID of the C
// library, in host order; the wire has it big-endian.
type PMID uint32

// NoPMID is "no metric", PM_ID_NULL: in replies it stands for an unknown name and
// for a metric without descriptor.
const NoPMID PMID = 0xffffffff

// MakePMID composes a PMID; every field is masked to its width, as
// pmID_build(3) does.
func MakePMID(d Domain, cluster, item int) PMID {
	return PMID(uint32(d)&0x1ff<<pmidDomainShift | uint32(cluster)&0xfff<<10 | uint32(item)&0x3ff)
}

// DynamicRoot is the PMID that stands in a name space for a subtree whose
// names the agent of domain d knows (d:*:* in a PMNS file).
func DynamicRoot(d Domain) PMID { return MakePMID(DynamicDomain, int(d), 0) }

// Domain is the agent's number. The counterpart of pmID_domain(3).
func (p PMID) Domain() Domain { return Domain(p >> pmidDomainShift & 0x1ff) }

// Cluster is the middle field, 0 to 4095. The counterpart of pmID_cluster(3).
func (p PMID) Cluster() int { return int(p >> 10 & 0xfff) }

// Item is the low field, 0 to 1023. The counterpart of pmID_item(3).
func (p PMID) Item() int { return int(p & 0x3ff) }

// IsDynamicRoot reports whether p marks a dynamic subtree of a name space. It returns the domain of
// the agent that has the subtree.
func (p PMID) IsDynamicRoot() (Domain, bool) {
	if p == NoPMID || p.Domain() != DynamicDomain || p.Item() != 0 {
		return 0, false
	}
	return Domain(p.Cluster()), true
}

// IsDerived reports whether p belongs to a derived metric: one that a client
// computes, or (IsLoggedDerived) one that an archive recorded.
func (p PMID) IsDerived() bool {
	return p != NoPMID && p.Domain() == DynamicDomain && p.Item() != 0
}

// IsLoggedDerived reports whether p is a derived metric as written to an archive.
func (p PMID) IsLoggedDerived() bool { return p.IsDerived() && p.Cluster()&derivedLogged != 0 }

// String is the dotted form that pmIDStr(3) prints: "60.2.0", "PM_ID_NULL", or
// "29.*.*" for a dynamic root.
func (p PMID) String() string {
	if p == NoPMID {
		return "PM_ID_NULL"
	}
	if d, ok := p.IsDynamicRoot(); ok {
		return strconv.Itoa(int(d)) + ".*.*"
	}
	b := make([]byte, 0, 13)
	b = strconv.AppendInt(b, int64(p.Domain()), 10)
	b = append(b, '.')
	b = strconv.AppendInt(b, int64(p.Cluster()), 10)
	b = append(b, '.')
	return string(strconv.AppendInt(b, int64(p.Item()), 10))
}

// ParsePMID inverts PMID.String.
func ParsePMID(s string) (PMID, error) {
	if s == "PM_ID_NULL" {
		return NoPMID, nil
	}
	if d, ok := strings.CutSuffix(s, ".*.*"); ok {
		n, err := field(d, MaxCluster)
		if err != nil {
			return NoPMID, fmt.Errorf("PMID %q: domain: %w", s, err)
		}
		return DynamicRoot(Domain(n)), nil
	}
	f := strings.Split(s, ".")
	if len(f) != 3 {
		return NoPMID, fmt.Errorf("PMID %q: want domain.cluster.item", s)
	}
	var n [3]int
	for i, limit := range [3]int{int(DynamicDomain), MaxCluster, MaxItem} {
		v, err := field(f[i], limit)
		if err != nil {
			return NoPMID, fmt.Errorf("PMID %q: %s: %w", s, [3]string{"domain", "cluster", "item"}[i], err)
		}
		n[i] = v
	}
	return MakePMID(Domain(n[0]), n[1], n[2]), nil
}

// field parses a decimal number of digits only, up to limit.
func field(s string, limit int) (int, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	if n > uint64(limit) {
		return 0, fmt.Errorf("%d out of range (0..%d)", n, limit)
	}
	return int(n), nil
}

// An InDom identifies an instance domain: 9 bits of domain, 22 of serial below
// a flag bit. It is pmInDom of the C library.
type InDom uint32

// NoInDom is PM_INDOM_NULL, the instance domain of a singular metric.
const NoInDom InDom = 0xffffffff

// MakeInDom composes an InDom; fields are masked to their widths, as
// pmInDom_build(3) does.
func MakeInDom(d Domain, serial int) InDom {
	return InDom(uint32(d)&0x1ff<<pmidDomainShift | uint32(serial)&MaxInDomSerial)
}

// Domain is the agent's number. The counterpart of pmInDom_domain(3).
func (i InDom) Domain() Domain { return Domain(i >> pmidDomainShift & 0x1ff) }

// Serial is the number within the agent, 0 to MaxInDomSerial. The counterpart
// of pmInDom_serial(3).
func (i InDom) Serial() int { return int(i & MaxInDomSerial) }

// String is the dotted form that pmInDomStr(3) prints: "60.1" or "PM_INDOM_NULL".
func (i InDom) String() string {
	if i == NoInDom {
		return "PM_INDOM_NULL"
	}
	return strconv.Itoa(int(i.Domain())) + "." + strconv.Itoa(i.Serial())
}

// ParseInDom inverts InDom.String.
func ParseInDom(s string) (InDom, error) {
	if s == "PM_INDOM_NULL" {
		return NoInDom, nil
	}
	d, serial, ok := strings.Cut(s, ".")
	if !ok {
		return NoInDom, fmt.Errorf("instance domain %q: want domain.serial", s)
	}
	dn, err := field(d, int(DynamicDomain))
	if err != nil {
		return NoInDom, fmt.Errorf("instance domain %q: domain: %w", s, err)
	}
	sn, err := field(serial, MaxInDomSerial)
	if err != nil {
		return NoInDom, fmt.Errorf("instance domain %q: serial: %w", s, err)
	}
	return MakeInDom(Domain(dn), sn), nil
}

// An InstID identifies an instance within its domain. It is signed on the wire.
type InstID int32

// NoInst is PM_IN_NULL: the instance of a singular value, and "all" or "by
// name" in requests.
const NoInst InstID = -1

// An Instance is one member of an instance domain.
type Instance struct {
	ID   InstID
	Name string // unique in its domain up to the first space
}
