package archive

// ParseLabel parses a label at the start of a file. It ignores the bytes after the label. The error
// wraps pdu.ErrNoData for fewer than 8 bytes and pdu.ErrLabel for a malformed label. It is not an
// *Error, because it has no file. If b is too short, it also wraps io.ErrUnexpectedEOF.
func ParseLabel(b []byte) (Label, error) {
	var l Label
	if err := l.decode(b); err != nil {
		return Label{}, err
	}
	return l, nil
}
