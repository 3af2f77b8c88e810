package simple

// The help texts are word for word those that clients know of PCP's agent.
const (
	colorInDomText = `Instance domain "colour" for simple PMDA`
	colorInDomHelp = `Universally 3 instances, "red" (0), "green" (1) and "blue" (3).`

	timeInDomText = `Dynamic instance domain "time" for simple PMDA`
	timeInDomHelp = `An instance domain which is computed on-the-fly for exporting current time
information.  Refer to the help text for simple.now for a more complete
explanation.`

	numfetchText = "Number of pmFetch operations."
	numfetchHelp = `The cumulative number of pmFetch operations directed to the "simple"
PMDA.

This counter may be modified with pmstore(1).`

	colorText = "Metrics which increment with each fetch"
	colorHelp = `This metric has 3 instances, designated "red", "green" and "blue".

The value of the metric is monotonic increasing in the range 0 to
255, then back to 0.  The different instances have different starting
values, namely 0 (red), 100 (green) and 200 (blue).

The metric values my be altered using pmstore(1).`

	userText = "Time agent has spent executing user code"
	userHelp = `The time in seconds that the CPU has spent executing user code for the
agent.`

	sysText = "Time agent has spent executing system code"
	sysHelp = `The time in seconds that the CPU has spent executing system code for
the agent.`

	nowText = "Time of day with a configurable instance domain"
	nowHelp = `The value reflects the current time of day through a dynamically
reconfigurable instance domain.  On each metric value fetch request,
the agent checks to see whether the configuration file in
$PCP_PMDAS_DIR/simple/simple.conf has been modified - if it has then
the file is re-parsed and the instance domain for this metric is again
constructed according to its contents.

This configuration file contains a single line of comma-separated time
tokens from this set:
  "sec"  (seconds after the minute),
  "min"  (minutes after the hour),
  "hour" (hour since midnight).

An example configuration file could be:  sec,min,hour
and in this case the simple.now metric would export values
for the three instances "sec", "min" and "hour" corresponding
respectively to the components seconds, minutes and hours of the
current time of day.

The instance domain reflects each token present in the file, and the
values reflect the time at which the PMDA processes the fetch.`
)
