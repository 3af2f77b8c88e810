// Package logconf reads the configurations of loggers: what is recorded, how often, and who may change that. It is the language of
// pmlogger(1), with its preprocessor.
//
//	%define often "5 seconds"
//	log mandatory on once { hinv.ncpu, hinv.physmem }
//	log mandatory on every %often { kernel.all.load [ "1 minute", 5 ] disk.dev }
//	log advisory on default mem.util
//	log mandatory off { proc }
//	[access]
//	disallow .* : all;
//	allow localhost : enquire;
package logconf

import (
	"fmt"
	"io"
	"os"
	"time"
)

// A Config is the contents of a configuration file.
type Config struct {
	Requests []Request // in the order of the file, in which they take effect
	Rules    []Rule    // of the access section
}

// A Request asks for some metrics to be recorded, or not.
type Request struct {
	Control Control
	State   State
	// Interval is the time between two records of a metric with State On; 0 for once.
	Interval time.Duration
	// Default says that the interval is that of the logger, and Interval is 0. It is false with Options.Default.
	Default bool
	Metrics []Metric
}

// Control is how firm a request is. An advisory one changes nothing about metrics for which there is a mandatory one.
type Control uint8

// The values of Control.
const (
	Advisory Control = iota
	Mandatory
)

// String is the word of the configuration.
func (c Control) String() string {
	if c == Mandatory {
		return "mandatory"
	}
	return "advisory"
}

// State is what a request asks for.
type State uint8

// The values of State. Maybe leaves the choice to advisory requests, and is only of mandatory ones.
const (
	Off State = iota
	Maybe
	On
)

// String is the word of the configuration.
func (s State) String() string { return [...]string{"off", "maybe", "on"}[s] }

// A Metric is a name in a request: a metric, or all metrics below it.
type Metric struct {
	Name string
	// Instances are those that are recorded; none stands for all that there are at each time.
	Instances []Instance
	Place
}

// An Instance is one of a metric's instances, by its name, or if that is empty by its number.
type Instance struct {
	Name string
	ID   int32
}

// String is the name or the number.
func (i Instance) String() string {
	if i.Name == "" {
		return fmt.Sprint(i.ID)
	}
	return i.Name
}

// A Place is a line of a file.
type Place struct {
	File string
	Line int
}

// A Rule of the access section says what a host may do, or may not.
type Rule struct {
	Allow bool
	// Hosts are names and addresses, with * at the end for all that begin so; * alone stands for everybody.
	Hosts []string
	Ops   Ops
	Place
}

// Ops are kinds of requests that are made of a logger while it runs.
type Ops uint8

// The kinds of requests.
const (
	OpAdvisory  Ops = 1 << iota // to change what is recorded, as advisory
	OpMandatory                 // to change it as mandatory, and for a new volume
	OpEnquire                   // to ask for the state

	OpAll = OpAdvisory | OpMandatory | OpEnquire
)

// A SyntaxError is what is wrong with a configuration.
type SyntaxError struct {
	Place
	Msg string
}

// Error is the place and what is wrong.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg) }

// MaxInterval is the longest interval, which the protocol of pmlc(1) has room for.
const MaxInterval = (1<<28 - 1) * time.Millisecond

// Options are what a configuration is read with.
type Options struct {
	// Open opens an included file, by its name with slashes. Nil opens files of the file system.
	Open func(name string) (io.ReadCloser, error)
	// Dirs are searched for included files after the directory of the configuration.
	Dirs []string
	// Default is the interval of "default", of which whole milliseconds count; 0 is for once. With nil, it is that of the logger: see
	// Request.Default.
	Default *time.Duration
}

// Parse reads a configuration. The name stands in errors. With an error, the Config has what comes before it. The error is a
// *SyntaxError, or one of reading.
func (o Options) Parse(name string, r io.Reader) (*Config, error) {
	if o.Open == nil {
		o.Open = openFile
	}
	p := parser{lexer: newLexer(o, name, r), every: o.Default}
	defer p.lexer.close()
	err := p.parse()
	return &p.config, err
}

// openFile opens a file that is no device or FIFO, which might never end or begin.
func openFile(name string) (io.ReadCloser, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrInvalid}
	}
	return os.Open(name)
}
