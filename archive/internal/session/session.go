// Package session writes the first and the last data record of an archive of pmlogger(1).
package session

import (
	"strconv"
	"time"

	"github.com/pcp-go/pcp/archive"
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
var inDom = pdu.MakeInDom(2, 1)

var metrics = [...]archive.Metric{
	{Desc: pdu.Desc{PMID: pdu.MakePMID(2, 3, 3), Type: pdu.TypeString, InDom: inDom, Sem: pdu.SemDiscrete}, Names: []string{"pmcd.pmlogger.host"}},
	{Desc: pdu.Desc{PMID: pdu.MakePMID(2, 3, 0), Type: pdu.TypeU32, InDom: inDom, Sem: pdu.SemDiscrete}, Names: []string{"pmcd.pmlogger.port"}},
	{Desc: pdu.Desc{PMID: pdu.MakePMID(2, 3, 2), Type: pdu.TypeString, InDom: inDom, Sem: pdu.SemDiscrete}, Names: []string{"pmcd.pmlogger.archive"}},
	{Desc: pdu.Desc{PMID: pdu.MakePMID(2, 0, 23), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}, Names: []string{"pmcd.pid"}},
	{Desc: pdu.Desc{PMID: pdu.MakePMID(2, 0, 24), Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}, Names: []string{"pmcd.seqnum"}},
}

// WritePrologue writes the data record that an archive of pmlogger begins with, and its metadata.
func (s *Session) WritePrologue(w *archive.Writer, t time.Time) error {
	pid := w.Label().PID
	self := pdu.Instance{ID: pdu.InstID(pid), Name: strconv.Itoa(int(pid))}
	for i, m := range metrics {
		if err := w.WriteMetric(m); err != nil {
			return err
		}
		if i == 0 {
			if _, err := w.UpdateInDom(t, inDom, []pdu.Instance{self}); err != nil {
				return err
			}
		}
	}
	return s.write(w, t)
}

// WriteEpilogue writes the data record that an archive of pmlogger ends with, and its entry of the
// index, which is the last one. It comes after a prologue.
func (s *Session) WriteEpilogue(w *archive.Writer, t time.Time) error {
	if err := s.write(w, t); err != nil {
		return err
	}
	last, _ := w.Place()
	return w.WriteIndex(last)
}

func (s *Session) write(w *archive.Writer, t time.Time) error {
	self := pdu.InstID(w.Label().PID)
	b := pdu.ResultWriter{Time: t}
	for i, a := range [...]pdu.Atom{pdu.String(s.Host), pdu.Uint32(s.Port), pdu.String(s.Archive), pdu.Uint64(s.PMCD), pdu.Uint32(s.Seqnum)} {
		inst := pdu.NoInst
		if metrics[i].InDom == inDom {
			inst = self
		}
		b.Begin(metrics[i].PMID)
		b.Atom(inst, a)
	}
	return w.WriteSets(&b)
}
