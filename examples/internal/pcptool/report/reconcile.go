package report

import (
	"errors"
)

// reconcile changes options that others rule out, and checks those that need others.
func (o *Options) reconcile() error {
	if o.refused != nil {
		return o.refused
	}
	if o.OverallRank || o.OverallRankAlt {
		if o.Rank == 0 {
			return errors.New("Overall ranking requires ranking enabled.")
		}
		if o.Output != OutputStdout {
			return errOverall
		}
		o.Header, o.Swapped, o.SwapLabel, o.Predicates = false, false, "", nil
	}
	if o.NamesChange == NamesUpdate {
		o.DynamicHeader = true
	}
	if o.Output == OutputArchive {
		o.DynamicHeader, o.FixedHeader = false, false
		o.Raw = true
		o.CountScale, o.SpaceScale, o.TimeScale = "", "", ""
		o.CountScaleForce, o.SpaceScaleForce, o.TimeScaleForce = "", "", ""
	}
	if o.DynamicHeader || !o.Swapped || o.Output != OutputStdout {
		o.FixedHeader = false
	}
	if !o.Header || o.RepeatHeader == RepeatAuto && (o.DynamicHeader || o.FixedHeader) {
		o.RepeatHeader = 0
	}
	csv := o.Output == OutputCSV
	switch {
	case o.delimiterGiven || o.Delimiter != "":
	case csv:
		o.Delimiter = ","
	default:
		o.Delimiter = "  "
	}
	switch {
	case o.timeFormatGiven && o.TimeFormat == "":
		o.Timestamp = false
	case o.TimeFormat != "":
	case csv:
		o.TimeFormat = "%Y-%m-%d %H:%M:%S"
	default:
		o.TimeFormat = "%H:%M:%S"
	}
	return nil
}

var errOverall = errors.New("Overall ranking supported only with archive input and stdout output.")
