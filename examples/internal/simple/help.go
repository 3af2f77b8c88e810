package simple

// We wrote these texts. The program examples/simple prefers the texts of an installed PCP.
const (
	colorInDomText = "Three colours"
	colorInDomHelp = `The instances red, green and blue, numbered 0, 1 and 2. They never change.`

	timeInDomText = "Parts of the time of day"
	timeInDomHelp = `Any of the instances sec, min and hour, as the configuration file lists
them. The agent looks at the file again when it has changed.`

	numfetchText = "Fetches that the agent has answered"
	numfetchHelp = `Counts the fetches since the agent started. A client may store another
value, from which the count goes on; one below zero is refused and sets it
to zero.`

	colorText = "A saw-tooth for each colour"
	colorHelp = `Each read of an instance adds one to its value, and 255 is followed by 0.
They start at 0 (red), 100 (green) and 200 (blue). A client may store a
value from 0 to 255; what lies outside is refused and sets the nearest
value that is allowed.`

	userText = "User-mode processor time of the agent"
	userHelp = `Seconds that processors have spent in the agent's own code. Taken anew at
each fetch that makes simple.numfetch grow beyond its highest value so far.`

	sysText = "System-mode processor time of the agent"
	sysHelp = `Seconds that processors have spent in the kernel on behalf of the agent.
Taken anew at each fetch that makes simple.numfetch grow beyond its highest
value so far.`

	nowText = "Parts of the local time of day"
	nowHelp = `The seconds, minutes and hours of the local time at the fetch: one value
for each of the instances sec, min and hour that the configuration file
lists, such as

    sec,min,hour

The file is simple.conf in the agent's directory. Its first line counts;
words other than those three are passed over with a warning in the log.`
)
