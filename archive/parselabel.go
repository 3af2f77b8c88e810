package archive

// ParseLabel parses a label at the start of a file. It ignores the bytes after the label. The error
// is pdu.ErrNoData for less than 8 bytes and pdu.ErrLabel for a malformed label.
func ParseLabel(b []byte) (Label, error) {
	var l Label
	if err := l.decode(b); err != nil {
		return Label{}, err
	}
	return l, nil
}
