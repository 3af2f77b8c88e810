package pdu

// CopySelected is Copy of the values of those instances that e selects. Selection does the same
// with encoded results.
func (w *ResultWriter) CopySelected(s ValueSet, e InDomProfile) {
	w.Begin(s.PMID)
	if n := s.count(); n < 0 {
		w.bad = Error(n)
		return
	}
	all, left := e.All(), len(s.buf)
	for i := range s.Len() {
		if !all && !e.Includes(s.Inst(i)) {
			continue
		}
		if s.form() == valInsitu {
			w.add(valInsitu, s.Inst(i), s.word(i))
			continue
		}
		off, n, ok := s.block(i)
		if left -= n; !ok || left < 0 {
			w.Fail(ErrIPC)
			return
		}
		w.addBlock(s.form(), s.Inst(i), Type(s.buf[off]), s.buf[off+blockHeadLen:off+n])
	}
}
