package report

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pmapi"
)

// A setter sets an option to a value of a file of configuration or of the command line.
type setter func(o *Options, value string) error

// keyword returns the setter of the option that has a name in configuration files, or nil.
func keyword(name string) setter { return keywords[name] }

// refuse notes why the value of an option cannot be used, which New reports. Only the first is.
func (o *Options) refuse(format string, args ...any) {
	if o.refused == nil {
		o.refused = fmt.Errorf(format, args...)
	}
}

// keywords are the options that files of configuration may set.
var keywords = map[string]setter{
	"source":    text(func(o *Options) *string { return &o.Source }),
	"speclocal": setSpecLocal,
	"output":    setOutput,
	"derived":   setDerived,
	"daemonize": flag(func(o *Options) *bool { return &o.Daemonize }),
	"version":   setVersion,

	"header":    flag(func(o *Options) *bool { return &o.Header }),
	"unitinfo":  flag(func(o *Options) *bool { return &o.UnitInfo }),
	"instinfo":  flag(func(o *Options) *bool { return &o.InstInfo }),
	"globals":   flag(func(o *Options) *bool { return &o.Globals }),
	"timestamp": flag(func(o *Options) *bool { return &o.Timestamp }),

	"samples":  setSamples,
	"interval": setInterval,
	"delay":    flag(func(o *Options) *bool { return &o.Delay }),
	"interpol": flag(func(o *Options) *bool { return &o.Interpol }),

	"type":            setRaw(func(o *Options) *bool { return &o.Raw }),
	"type_prefer":     setRaw(func(o *Options) *bool { return &o.RawPrefer }),
	"ignore_incompat": flag(func(o *Options) *bool { return &o.IgnoreIncompat }),
	"ignore_unknown":  flag(func(o *Options) *bool { return &o.IgnoreUnknown }),
	"names_change":    setNamesChange,

	"instances":          setInstances,
	"live_filter":        flag(func(o *Options) *bool { return &o.LiveFilter }),
	"rank":               integer("rank", func(o *Options) *int { return &o.Rank }),
	"overall_rank":       flag(func(o *Options) *bool { return &o.OverallRank }),
	"overall_rank_alt":   flag(func(o *Options) *bool { return &o.OverallRankAlt }),
	"limit_filter":       integer("limit_filter", func(o *Options) *int { return &o.LimitFilter }),
	"limit_filter_force": integer("limit_filter_force", func(o *Options) *int { return &o.LimitFilterForce }),
	"invert_filter":      flag(func(o *Options) *bool { return &o.InvertFilter }),
	"predicate":          list(func(o *Options) *[]string { return &o.Predicates }),
	"sort_metric":        list(func(o *Options) *[]string { return &o.SortMetrics }),
	"omit_flat":          flag(func(o *Options) *bool { return &o.OmitFlat }),

	"include_labels":  flag(func(o *Options) *bool { return &o.IncludeLabels }),
	"include_texts":   flag(func(o *Options) *bool { return &o.IncludeTexts }),
	"colxrow":         setColXRow,
	"width":           count("width", func(o *Options) *int { return &o.Width }),
	"width_force":     count("width_force", func(o *Options) *int { return &o.WidthForce }),
	"precision":       count("precision", func(o *Options) *int { return &o.Precision }),
	"precision_force": count("precision_force", func(o *Options) *int { return &o.PrecisionForce }),
	"delimiter":       setDelimiter,
	"extcsv":          flag(func(o *Options) *bool { return &o.ExtendedCSV }),
	"extheader":       flag(func(o *Options) *bool { return &o.ExtendedHeader }),
	"fixed_header":    flag(func(o *Options) *bool { return &o.FixedHeader }),
	"repeat_header":   setRepeat,
	"dynamic_header":  flag(func(o *Options) *bool { return &o.DynamicHeader }),
	"separate_header": flag(func(o *Options) *bool { return &o.SeparateHeader }),
	"timefmt":         setTimeFormat,

	"count_scale":       text(func(o *Options) *string { return &o.CountScale }),
	"space_scale":       text(func(o *Options) *string { return &o.SpaceScale }),
	"time_scale":        text(func(o *Options) *string { return &o.TimeScale }),
	"count_scale_force": text(func(o *Options) *string { return &o.CountScaleForce }),
	"space_scale_force": text(func(o *Options) *string { return &o.SpaceScaleForce }),
	"time_scale_force":  text(func(o *Options) *string { return &o.TimeScaleForce }),
}

// truthWords are the words of files of configuration for true and false.
var truthWords = map[string]int{"true": 1, "True": 1, "y": 1, "yes": 1, "Yes": 1, "false": 0, "False": 0, "n": 0, "no": 0, "No": 0}

// parseInt is the whole number that Python's int() makes of a value, or 1 and 0 for the words that
// stand for true and false.
func parseInt(value string) (n int, ok bool) {
	if n, ok := truthWords[value]; ok {
		return n, true
	}
	n64, err := strconv.ParseInt(strings.ReplaceAll(trimBlanks(value), "_", ""), 10, 64)
	if err != nil || n64 > math.MaxInt32 || n64 < math.MinInt32 {
		return 0, false
	}
	return int(n64), true
}

// flag makes the setter of an option that is true or false.
func flag(field func(*Options) *bool) setter {
	return func(o *Options, value string) error {
		n, ok := parseInt(value)
		*field(o) = ok && n == 1
		return nil
	}
}

func text(field func(*Options) *string) setter {
	return func(o *Options, value string) error {
		*field(o) = value
		return nil
	}
}

// list makes the setter of a list with commas.
func list(field func(*Options) *[]string) setter {
	return func(o *Options, value string) error {
		*field(o) = strings.Split(value, ",")
		return nil
	}
}

func integer(name string, field func(*Options) *int) setter {
	return func(o *Options, value string) error {
		n, ok := parseInt(value)
		if !ok {
			o.refuse("Error while reading option %s: Integer expected.", name)
			return nil
		}
		*field(o) = n
		return nil
	}
}

func count(name string, field func(*Options) *int) setter {
	return func(o *Options, value string) error {
		n, ok := parseInt(value)
		if !ok || n < 0 {
			o.refuse("Error while reading option %s: Non-negative integer expected.", name)
			return nil
		}
		*field(o) = n
		return nil
	}
}

func setRepeat(o *Options, value string) error {
	if value == "auto" {
		o.RepeatHeader = RepeatAuto
		return nil
	}
	return count("repeat_header", func(o *Options) *int { return &o.RepeatHeader })(o, value)
}

func setRaw(field func(*Options) *bool) setter {
	return func(o *Options, value string) error {
		*field(o) = value == "raw"
		return nil
	}
}

func setOutput(o *Options, value string) error {
	switch value {
	case "stdout":
		o.Output = OutputStdout
	case "csv":
		o.Output = OutputCSV
	case "archive":
		o.Output = OutputArchive
	default:
		o.refuse("Error while parsing options: Invalid output target specified.")
	}
	return nil
}

func setVersion(o *Options, value string) error {
	if n, ok := parseInt(value); !ok || n != 1 {
		o.refuse("Incompatible configuration file version (read v%s, need v1).", value)
	}
	return nil
}

// errOption is an error that is printed with the usage message.
type errOption struct{ error }

func setSamples(o *Options, value string) error {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return errOption{errors.New("pcp: sample count must be a positive numeric argument")}
	}
	o.Samples = int(n)
	return nil
}

func setInterval(o *Options, value string) error {
	d, err := pmapi.ParseInterval(value)
	if err != nil {
		return errOption{fmt.Errorf("pcp: interval argument not in pmParseHighResInterval(3) format:\n%w\n", pcptool.SyntaxError(err))}
	}
	o.Interval, o.intervalGiven = d, true
	return nil
}

// setNamesChange sets the effect of changes of names. The words of the command line have no effect
// in files.
func setNamesChange(o *Options, value string) error {
	if n, ok := parseInt(value); ok && n >= NamesIgnore && n <= NamesUpdate {
		o.NamesChange = n
	}
	return nil
}

func setSpecLocal(o *Options, value string) error {
	o.SpecLocal = strings.Split(value, ";")
	return nil
}

func setDerived(o *Options, value string) error {
	separator := ","
	if strings.Contains(value, ";") {
		separator = ";"
	}
	o.Derived = strings.Split(value, separator)
	return nil
}

func setInstances(o *Options, value string) error {
	o.Instances = strings.Split(value, ",")
	return nil
}

func setColXRow(o *Options, value string) error {
	o.Swapped, o.SwapLabel = true, value
	return nil
}

func setDelimiter(o *Options, value string) error {
	o.Delimiter, o.delimiterGiven = value, true
	return nil
}

func setTimeFormat(o *Options, value string) error {
	o.TimeFormat, o.timeFormatGiven = value, true
	return nil
}
