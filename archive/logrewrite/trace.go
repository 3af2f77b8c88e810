package logrewrite

import (
	"fmt"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// traceLog traces that a data record is read or written.
func (c *copier) traceLog(what string, t time.Time, layout string, metrics int, offset int64) {
	if c.opts.Trace != nil {
		c.opts.Trace(fmt.Sprintf("Log: %s %s numpmid=%d @ offset=%d", what, t.Local().Format(layout), metrics, offset))
	}
}

// traceRead traces a data record that is read.
func (c *copier) traceRead(r *archive.Record) {
	c.traceLog("read", r.Time, "15:04:05.000000000", c.in.Len(), r.Offset)
}

// traceWrite traces a data record that is about to be written.
func (c *copier) traceWrite(t time.Time, metrics int) {
	_, next := c.w.Place()
	c.traceLog("write", t, "15:04:05.000", metrics, next.Data)
}

// traceEnd traces the end of a file.
func (c *copier) traceEnd(what string, f *archive.File) {
	if c.opts.Trace == nil {
		return
	}
	if size, err := f.Size(); err == nil {
		c.opts.Trace(fmt.Sprintf("%s: read EOF @ offset=%d", what, size))
	}
}

// traceMeta traces metadata that is about to be written.
func (c *copier) traceMeta(format string, args ...any) {
	if c.opts.Trace != nil {
		_, next := c.w.Place()
		c.opts.Trace(fmt.Sprintf("Metadata: write "+format, args...) + fmt.Sprintf(" @ offset=%d", next.Meta))
	}
}

// traceHeld traces metadata that is read, once.
func (c *copier) traceHeld(r *archive.Record) {
	if c.opts.Trace == nil || c.traced {
		return
	}
	c.traced = true
	what := ""
	switch r.Kind {
	case archive.KindDesc:
		m, _ := r.Metric()
		what = fmt.Sprint("PMID ", m.PMID)
	case archive.KindInDom, archive.KindInDomDelta:
		d, _ := r.InDom()
		what = inDomLayouts[r.Type] + fmt.Sprint("InDom ", d.InDom)
	case archive.KindLabels:
		what = "LabelSet"
		if r.Type != archive.TypeLabels {
			what = "V2 LabelSet"
		}
	case archive.KindText:
		what = "Text"
	}
	c.opts.Trace(fmt.Sprintf("Metadata: read %s @ offset=%d", what, r.Offset))
}

// inDomLayouts are what stands before the word InDom for types of records.
var inDomLayouts = map[int32]string{archive.TypeInDomV2: "V2 ", archive.TypeInDomDelta: "Delta "}

// traceInDom traces a record of an instance domain that is about to be written.
func (c *copier) traceInDom(d archive.InDomRecord, note string) {
	switch {
	case c.version == 2:
		note += "V2 "
	case d.Delta:
		note += "Delta "
	}
	c.traceMeta("%sInDom %v", note, d.InDom)
}

// putLabels writes label sets.
func (c *copier) putLabels(l archive.LabelRecord) error {
	c.traceLabels(l)
	return c.w.WriteLabels(l)
}

// traceLabels traces label sets that are about to be written.
func (c *copier) traceLabels(l archive.LabelRecord) {
	if c.opts.Trace == nil {
		return
	}
	version := ""
	if c.version == 2 {
		version = "V2 "
	}
	c.traceMeta("%sLabelSet %s", version, labelOwner(l.Class, l.Ident))
}

// labelOwner is what labels are of.
func labelOwner(class pdu.LabelClass, ident uint32) string {
	switch class {
	case pdu.LabelContext:
		return "Context"
	case pdu.LabelDomain:
		return fmt.Sprint("Domain ", ident)
	case pdu.LabelCluster:
		id := pdu.PMID(ident)
		return fmt.Sprintf("Cluster %d.%d", id.Domain(), id.Cluster())
	case pdu.LabelItem:
		return fmt.Sprint("PMID ", pdu.PMID(ident))
	}
	return fmt.Sprint("InDom ", pdu.InDom(ident))
}
