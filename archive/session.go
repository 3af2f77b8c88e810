package archive

import (
	"strconv"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Session is what pmlogger(1) says of itself at the start and at the end of an archive. Programs
// that join archives compare what the one ends with and the next one begins with: if PMCD and
// Seqnum are the same, nothing happened in between.
type Session struct {
	Host    string // where the logger runs
	Port    uint32 // where pmlc(1) reaches it
	Archive string // the base name, absolute
	PMCD    uint64 // the process of the collector
	Seqnum  uint32 // the times that the collector's metrics and agents have changed
}

// The metrics of a Session, in the order of pmlogger.
var sessionInDom = pdu.MakeInDom(2, 1)

var sessionMetrics = [...]Metric{
	{pdu.Desc{PMID: pdu.MakePMID(2, 3, 3), Type: pdu.TypeString, InDom: sessionInDom, Sem: pdu.SemDiscrete}, []string{"pmcd.pmlogger.host"}},
	{pdu.Desc{PMID: pdu.MakePMID(2, 3, 0), Type: pdu.TypeU32, InDom: sessionInDom, Sem: pdu.SemDiscrete}, []string{"pmcd.pmlogger.port"}},
	{pdu.Desc{PMID: pdu.MakePMID(2, 3, 2), Type: pdu.TypeString, InDom: sessionInDom, Sem: pdu.SemDiscrete}, []string{"pmcd.pmlogger.archive"}},
	{pdu.Desc{PMID: pdu.MakePMID(2, 0, 23), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}, []string{"pmcd.pid"}},
	{pdu.Desc{PMID: pdu.MakePMID(2, 0, 24), Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}, []string{"pmcd.seqnum"}},
}

// WritePrologue writes the data record that an archive of pmlogger begins with, and its metadata.
func (w *Writer) WritePrologue(t time.Time, s Session) error {
	self := pdu.Instance{ID: pdu.InstID(w.label.PID), Name: strconv.Itoa(int(w.label.PID))}
	for i, m := range sessionMetrics {
		if err := w.WriteMetric(m); err != nil {
			return err
		}
		if i == 0 {
			if _, err := w.UpdateInDom(t, sessionInDom, []pdu.Instance{self}); err != nil {
				return err
			}
		}
	}
	return w.writeSession(t, s)
}

// WriteEpilogue writes the data record that an archive of pmlogger ends with, and its entry of the
// index, which is the last one. It comes after a prologue.
func (w *Writer) WriteEpilogue(t time.Time, s Session) error {
	w.described = true // so that there is an entry
	if err := w.writeSession(t, s); err != nil {
		return err
	}
	w.ended = true
	return nil
}

func (w *Writer) writeSession(t time.Time, s Session) error {
	self := pdu.InstID(w.label.PID)
	b := pdu.ResultWriter{Time: t}
	for i, a := range [...]pdu.Atom{pdu.String(s.Host), pdu.Uint32(s.Port), pdu.String(s.Archive), pdu.Uint64(s.PMCD), pdu.Uint32(s.Seqnum)} {
		inst := pdu.NoInst
		if sessionMetrics[i].InDom == sessionInDom {
			inst = self
		}
		b.Begin(sessionMetrics[i].PMID)
		b.Atom(inst, a)
	}
	return w.WriteSets(&b)
}
