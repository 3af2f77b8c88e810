package procfile

// A KeyedFile is a file of KeyedNumbers that is read and parsed only as far as the requested
// numbers. If only the swapped pages of /proc/vmstat are requested, the kernel need not write the
// second half of the file.
type KeyedFile struct {
	*File
	numbers KeyedNumbers

	text   []byte // what has been read
	parsed int    // how much of it has been parsed
	failed bool   // to read on
}

// Index returns the index of the number with a name, which it adds if it is new. There
// must be no new names after the first Read.
func (k *KeyedFile) Index(name string) int { return k.numbers.Index(name) }

// spare is how much the part of a file with the wanted numbers may grow since the last reading
// without another read: the numbers before them get more digits.
const spare = 128

// Read starts a reading: it reads as much as the one before needed. The error is that of
// File.Read.
func (k *KeyedFile) Read() (err error) {
	head := MaxFile
	if k.parsed < len(k.text) {
		head = k.parsed + spare
	}
	k.numbers.Clear()
	k.text, err = k.ReadHead(head)
	k.parsed, k.failed = 0, err != nil
	return err
}

// Get returns the number at an index. It is not ok if the file does not have it, or cannot
// be read so far. Parts of the file that are read by different calls of Get may be of
// different moments, as are those of any file that takes the kernel several reads.
func (k *KeyedFile) Get(at int) (v uint64, ok bool) {
	for !k.numbers.known[at] && k.parseNext() {
	}
	return k.numbers.Get(at)
}

// parseNext parses the next line. It reports whether there was one.
func (k *KeyedFile) parseNext() bool {
	line, rest, ok := CutLine(k.text[k.parsed:])
	if !ok && !k.failed && !k.Whole() {
		text, err := k.ReadRest()
		if k.failed = err != nil; !k.failed {
			k.text = text
			line, rest, ok = CutLine(k.text[k.parsed:])
		}
	}
	if !ok {
		k.parsed = len(k.text)
		return false
	}
	k.parsed = len(k.text) - len(rest)
	k.numbers.ParseLine(line)
	return true
}
