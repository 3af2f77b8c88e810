package archive

// A Storage stores the files of a Writer instead of a directory; see WriterOptions.Storage. Its
// methods must copy their arguments, and must store nothing if they fail.
type Storage interface {
	// Create begins the file of the label's Volume, with the label and the records after it.
	Create(label Label, records []byte) error
	// Append adds whole records to a file.
	Append(volume int, records []byte) error
}

// createStored is createFile in a Storage.
func (w *Writer) createStored(l *Label, b []byte) (*outFile, error) {
	path := w.path(l.Volume)
	if _, err := l.Append(nil); err != nil {
		return nil, inRecord(path, 0, 0, err)
	}
	if err := w.opts.Storage.Create(*l, b); err != nil {
		return nil, inFile(path, err)
	}
	return &outFile{path: path, size: l.Len() + int64(len(b)), stored: &storedFile{w.opts.Storage, l.Volume}}, nil
}

// A storedFile is a file of a Storage.
type storedFile struct {
	in     Storage
	volume int
}

// append adds records to a stored file.
func (s *storedFile) append(o *outFile, b []byte) error {
	if err := s.in.Append(s.volume, b); err != nil {
		return inFile(o.path, err)
	}
	o.size += int64(len(b))
	return nil
}
