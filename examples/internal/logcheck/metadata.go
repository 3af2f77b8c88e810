package logcheck

import (
	"fmt"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/logtext"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// The maximum dimension and scales that make sense.
const (
	maxDimension  = 2
	maxSpaceScale = 6 // exabytes
	maxTimeScale  = 5 // hours
)

// checkMetadata is pass 2. It checks that the descriptors make sense.
func (k *checker) checkMetadata() {
	k.trace("%s: start pass2\n", k.base)
	var descs []pdu.Desc
	var ids []pdu.PMID
	for m := range k.set.Metadata().Metrics() {
		descs, ids = append(descs, m.Desc), append(ids, m.PMID)
	}
	for _, i := range logtext.HashOrder(ids) {
		k.checkDesc(&descs[i])
	}
	k.checkMetaTimes()
}

// checkMetaTimes checks that instance domains and label sets have times within the archive.
func (k *checker) checkMetaTimes() {
	f, err := k.arch.File(archive.VolumeMeta)
	if err != nil {
		return
	}
	end, err := k.set.End()
	for r, bad := range f.Records() {
		if bad != nil {
			return // pass 0 has reported it
		}
		var what string
		switch r.Kind {
		case archive.KindInDom, archive.KindInDomDelta:
			d, err := r.InDom()
			if err != nil {
				continue
			}
			what = fmt.Sprintf("InDom %v", d.InDom)
		case archive.KindLabels:
			l, err := r.Labels()
			if err != nil {
				continue
			}
			what = fmt.Sprintf("%v labels of %d", l.Class, l.Ident)
		default:
			continue
		}
		at := k.clock.AppendDate(nil, r.Time)
		switch {
		case r.Time.Before(k.label.Start):
			k.printf("%s.meta[record %d]: %s: time %s before start of archive (%s)\n",
				k.base, r.Number, what, at, k.clock.AppendDate(nil, k.label.Start))
		case err == nil && r.Time.After(end):
			k.printf("%s.meta[record %d]: %s: time %s after end of archive (%s)\n",
				k.base, r.Number, what, at, k.clock.AppendDate(nil, end))
		}
	}
}

// checkDesc checks a descriptor.
func (k *checker) checkDesc(d *pdu.Desc) {
	name := "unknown"
	if names := k.nameSpace.Names(d.PMID); len(names) > 0 {
		name = terminal.EscapeName(names[0])
	} else {
		k.printf("%s.meta: PMID %v: no name in PMNS: %v\n", k.base, d.PMID, pdu.ErrPMID)
	}
	found := func(format string, args ...any) {
		k.printf("%s.meta: %s [%v]: ", k.base, name, d.PMID)
		k.printf(format, args...)
		k.errs.WriteByte('\n')
	}
	if d.Type == pdu.TypeNoSupport {
		return
	}
	if d.Type < pdu.Type32 || d.Type > pdu.TypeHighResEvent {
		found("bad type (%d) in pmDesc", d.Type)
	}
	if d.InDom != pdu.NoInDom && d.InDom.Domain() != d.PMID.Domain() {
		found("domain of pmid (%d) != domain of indom (%d)", d.PMID.Domain(), d.InDom.Domain())
	}
	if d.Sem != pdu.SemCounter && d.Sem != pdu.SemInstant && d.Sem != pdu.SemDiscrete {
		found("bad semantics (%d) in pmDesc", d.Sem)
	}
	checkUnits(d.Units, found)
}

// checkUnits checks the units of a descriptor.
func checkUnits(u pdu.Units, found func(format string, args ...any)) {
	parts := [...]struct {
		name             string
		dimension, scale int
		max              int // of scale; 0 for none
	}{
		{"Space", u.DimSpace(), u.ScaleSpace(), maxSpaceScale},
		{"Time", u.DimTime(), u.ScaleTime(), maxTimeScale},
		{"Count", u.DimCount(), u.ScaleCount(), 0},
	}
	for _, p := range parts {
		if p.dimension < -maxDimension || p.dimension > maxDimension {
			found("bad dimension (%d) for %s in pmDesc", p.dimension, p.name)
		}
	}
	for _, p := range parts {
		if p.dimension == 0 && p.scale != 0 {
			found("non-zero scale (%d) with zero dimension for %s in pmDesc", p.scale, p.name)
		}
		if p.max > 0 && p.scale > p.max {
			found("bad scale (%d) for %s in pmDesc", p.scale, p.name)
		}
	}
}
