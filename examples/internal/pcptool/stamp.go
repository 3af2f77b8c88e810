package pcptool

import "time"

// Layouts, for time.Time.Format, of the times that PCP's tools print. Fractions of a second are
// cut, not rounded.
const (
	CtimeLayout        = time.ANSIC           // "Tue Nov 14 22:13:20 2023", as of pmCtime(3), which adds a newline
	StampLayout        = "15:04:05.000"       // as of pmPrintStamp(3), to the millisecond
	MicroStampLayout   = "15:04:05.000000"    // of pmdumplog(1) for archives of version 2
	HighResStampLayout = "15:04:05.000000000" // as of pmPrintHighResStamp(3), to the nanosecond

	// A stamp with its date and year, as of pmval -X, and as in the labels that pmdumplog(1) and
	// pmloglabel(1) print.
	DateStampLayout        = "Mon Jan _2 15:04:05.000 2006"
	DateMicroStampLayout   = "Mon Jan _2 15:04:05.000000 2006"
	DateHighResStampLayout = "Mon Jan _2 15:04:05.000000000 2006"

	ISOLayout = time.DateTime // "2023-11-14 22:13:20", as of pmrep's CSV
)
