package archive

// ParseLabel reads a label as it stands at the start of a file, whatever comes after it. Errors:
// pdu.ErrNoData for less than 8 bytes, pdu.ErrLabel.
func ParseLabel(b []byte) (Label, error) {
	var l Label
	if err := l.decode(b); err != nil {
		return Label{}, err
	}
	return l, nil
}
