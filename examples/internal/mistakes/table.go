package mistakes

// A mistake is a command line and the message that its user sees.
type mistake struct {
	name    string
	program string
	// args are words, with variables; see places.
	args string
	// tls is the value of PCP_TLSCONF_PATH, empty for none.
	tls string
	// until is for a program that starts despite the mistake: when it shows this, SIGTERM ends it.
	until string
	// want has parts of the message, in their order: what is wrong, where, and what to do.
	want []string
}

// table is the mistakes. The files that it names are those of files.
var table = []mistake{
	// Connections.
	{name: "wrong port", program: "pmval", args: "-s 1 -h localhost:$FREE demo.load",
		want: []string{"Connection refused", "hint: no program listens on", "$FREE", "start pmcd there, or name its host and port"}},
	{name: "unknown host", program: "pmval", args: "-s 1 -h web1..example demo.load",
		want: []string{`host "web1..example": No route to host`, "hint: the host name web1..example does not resolve", "check its spelling"}},
	{name: "no TLS there", program: "pmval", args: "-s 1 -h pcps://$COLLECTOR demo.load",
		want: []string{`host "pcps://$COLLECTOR"`, "the collector has no TLS", "pcp://$COLLECTOR connects without"}},
	{name: "login where there are no users", program: "pmval", args: "-s 1 -h $COLLECTOR?user=amy&pass=x demo.load",
		want: []string{"Operation not supported", "hint: ", "the collector has no users to log in"}},
	{name: "unknown authority", program: "pmval", args: "-s 1 -h pcps://$SECURE demo.load", tls: "verify.conf",
		want: []string{`host "pcps://$SECURE"`, "hint: TLS: x509: certificate signed by unknown authority", "set tls-ca-cert-file in tls.conf"}},
	{name: "other name in the certificate", program: "pmval", args: "-s 1 -h pcps://$SECURE demo.load", tls: "ca.conf",
		want: []string{`host "pcps://$SECURE"`, "hint: TLS: x509: certificate is valid for web1.example, not localhost", "use a name that the certificate has"}},
	{name: "host not allowed at the gateway", program: "pmval", args: "-s 1 -h web1@$GATEWAY demo.load",
		want: []string{`host "web1@$GATEWAY"`, "hint: the gateway has closed the connection", "pmproxy --allow"}},
	{name: "host not allowed at the gateway by HTTP", program: "curl", args: "http://$GATEWAY/pmapi/fetch?names=demo.load&hostspec=web1",
		want: []string{"host is not allowed", "web1", "pmproxy --allow"}},

	// Command lines of monitors.
	{name: "misspelt metric", program: "pmval", args: "-s 1 -h $COLLECTOR demo.laod",
		want: []string{"pmLookupName(demo.laod): Unknown metric name", "hint: similar names: demo.load"}},
	{name: "misspelt metric in pmrep", program: "pmrep", args: "-s 1 -h $COLLECTOR demo.laod",
		want: []string{"Invalid metric demo.laod", "hint: similar names: demo.load"}},
	{name: "misspelt option", program: "pmval", args: "--smaples 1 demo.load",
		want: []string{"unrecognized option '--smaples'", "hint: there is no option --smaples: similar: --samples"}},
	{name: "bad interval", program: "pmval", args: "-t 5parsec demo.load",
		want: []string{"-t argument not in", "5parsec\n ^ -- unexpected value", "hint: -t: an interval is a number and a unit, such as 5sec"}},
	{name: "bad time", program: "pmval", args: "-s 1 -a web1 -S @25:99 demo.load",
		want: []string{"invalid time window", "25:99", "hint: a time is such as @10:30", "the archive has values from 2026-11-23 10:00:00"}},
	{name: "time window outside the archive", program: "pmval", args: "-s 1 -a web1 -S @2031-01-01 demo.load",
		want: []string{"hint: the archive has values from 2026-11-23 10:00:00 to 2026-11-23 10:01:00"}},
	{name: "wrong archive", program: "pmval", args: "-s 1 -a wbe1 demo.load",
		want: []string{`Cannot open archive "wbe1": No such file or directory`, "hint: similar archives in .: web1"}},
	{name: "wrong archive in pmrep", program: "pmrep", args: "-s 1 -a wbe1 demo.load",
		want: []string{"pmrep: No such file or directory", "hint: similar archives in .: web1"}},

	// Damaged archives: a program shows what it can read, and names the file once.
	{name: "end of an archive cut off", program: "pmval", args: "-t 30 -a cut demo.load",
		want: []string{"pmval: Warning: cut.0: record 2 at offset 864: record of 56 bytes, of which the file has 52", "10:00:00.000 "}},
	{name: "end of an archive cut off, read by record", program: "pmval", args: "-U cut demo.load",
		want: []string{"pmval: pmFetchArchive: Corrupted record in a PCP archive log\nhint: cut.0: record 2 at offset 864: record of 56 bytes"}},
	{name: "metadata of an archive cut off", program: "pmval", args: "-a cutmeta demo.load",
		want: []string{`Cannot open archive "cutmeta": Corrupted record`, "hint: cutmeta.meta: record 1 at offset", "of which the file has"}},
	{name: "end of an archive cut off, in pmrep", program: "pmrep", args: "-t 30 -a cut demo.load",
		want: []string{"pmrep: Warning: cut.0: record 2 at offset 864"}},
	{name: "end of an archive cut off, in pmrep by record", program: "pmrep", args: "-u -a cut demo.load",
		want: []string{"pmrep: Corrupted record in a PCP archive log\nhint: cut.0: record 2 at offset 864"}},
	{name: "metadata of an archive cut off, in pmrep", program: "pmrep", args: "-a cutmeta demo.load",
		want: []string{"pmrep: Corrupted record in a PCP archive log\nhint: cutmeta.meta: record 1 at offset"}},

	// The collector.
	{name: "port of pmcd in use", program: "pmcd", args: "-p $BUSY -s socket",
		want: []string{"pmcd: cannot listen on 127.0.0.1:$BUSY: the port is in use, perhaps by another pmcd", "choose a port with -p"}},
	{name: "port of the page in use", program: "pmcd", args: "-p $FREE -s socket -w localhost:$BUSY", until: "no page",
		want: []string{"no page of metrics", "cannot listen on localhost:$BUSY: the port is in use", "choose a port with -w"}},
	{name: "page without a port", program: "pmcd", args: "-p $FREE -s socket -w localhost",
		want: []string{`pmcd: bad -w "localhost": want an address and a port, such as localhost:44323`}},
	{name: "missing configuration", program: "pmcd", args: "$PMCD -c nosuch.conf",
		want: []string{"pmcd: cannot read the configuration", "nosuch.conf: no such file", "name another file with -c"}},
	{name: "bad agent type", program: "pmcd", args: "$PMCD -c type.conf",
		want: []string{"pmcd: type.conf:1: expected `dso', `socket' or `pipe', not \"pipo\"", "similar word: pipe"}},
	{name: "bad PDU type", program: "pmcd", args: "$PMCD -c binry.conf",
		want: []string{"pmcd: binry.conf:1: pipe PDU type expected (`binary'), not \"binry\"", "similar word: binary"}},
	{name: "bad access rule", program: "pmcd", args: "$PMCD -c access.conf",
		want: []string{"pmcd: access.conf:3: ',' or ':' expected after \"localhost\", not \"all\""}},
	{name: "misspelt access rule", program: "pmcd", args: "$PMCD -c alow.conf",
		want: []string{"pmcd: alow.conf:3: allow or disallow statement expected, not \"alow\"", "similar word: allow"}},
	{name: "missing agent program", program: "pmcd", args: "$PMCD -c missing.conf", until: "request port",
		want: []string{`missing.conf:1: the program /nosuch/pmdacache of agent "cache" does not exist`, "correct its path, or build it"}},
	{name: "duplicate domain", program: "pmcd", args: "$PMCD -c twice.conf", until: "request port",
		want: []string{`twice.conf:2: domain number for "queue" agent clashes with "cache" agent`, "line 1 has domain 250 too, so give one of them another"}},
	{name: "bad name space", program: "pmcd", args: "-f -p $FREE -s socket -l - -n bad.pmns -c agent.conf",
		want: []string{"cannot load the name space", "[bad.pmns:2]", "Illegal PMID", "mend it, or name another with -n"}},
	{name: "log of pmcd cannot be written", program: "pmcd", args: "-f -p $FREE -s socket -l nosuch/log -n pmns -c agent.conf", until: "request port",
		want: []string{`pmcd: cannot open log "nosuch/log" for writing : No such file or directory`, "choose another file with -l"}},
	{name: "missing tls.conf", program: "pmcd", args: "-p $FREE -s socket", tls: "nosuch.conf",
		want: []string{"PCP_TLSCONF_PATH", "nosuch.conf: no such file", "correct the variable or remove it"}},
	{name: "key of another certificate", program: "pmcd", args: "-p $FREE -s socket", tls: "mismatch.conf",
		want: []string{"Cannot load", "$KEY", "private key does not match public key", "it has to be the key of the certificate in $CERT"}},

	// The gateway.
	{name: "port of pmproxy in use", program: "pmproxy", args: "-p $BUSY -i 127.0.0.1",
		want: []string{"pmproxy: cannot listen on 127.0.0.1:$BUSY: the port is in use, perhaps by another pmproxy", "choose a port with -p"}},
	{name: "missing tls.conf of pmproxy", program: "pmproxy", args: "-p $FREE", tls: "nosuch.conf",
		want: []string{"PCP_TLSCONF_PATH", "nosuch.conf: no such file", "correct the variable or remove it"}},

	{name: "users who push without a directory", program: "pmproxy", args: "-p $FREE --push-users=nosuch",
		want: []string{"options --push-… are without effect without --push"}},
	{name: "bad network that pushes", program: "pmproxy", args: "-p $FREE --push=new --push-from=300.1.1.1",
		want: []string{`bad address "300.1.1.1"`, "such as 10.0.0.0/8"}},
	{name: "origin without a scheme", program: "pmproxy", args: "-p $FREE --origin=localhost:3000",
		want: []string{`bad --origin "localhost:3000"`, "such as https://grafana.example.org"}},
	{name: "address of a page as a host to allow", program: "pmproxy", args: "-p $FREE --allow=http://web1/",
		want: []string{`bad --allow "http://web1/"`, "want host, host:port"}},

	// The logger.
	{name: "daily without directory", program: "pmlogger", args: "--daily -h $COLLECTOR -c good.config",
		want: []string{"pmlogger: insufficient arguments", "hint: name the directory of the archives: pmlogger --daily -c CONFIG DIRECTORY"}},
	{name: "bad time to keep archives", program: "pmlogger", args: "--daily --keep=fortnight -h $COLLECTOR -c good.config new",
		want: []string{"illegal --keep argument\nfortnight\n^ -- unexpected value", "hint: --keep: an interval is a number and a unit", "30days"}},
	{name: "bad size to keep", program: "pmlogger", args: "--daily --max-size=10 -h $COLLECTOR -c good.config new",
		want: []string{"illegal size argument '10' for archives", "hint: --max-size: a number and a unit, such as 500m or 10g"}},
	{name: "existing archive", program: "pmlogger", args: "$LOGGER -c good.config web1",
		want: []string{`"web1.index" already exists, not over-written`, "hint: there is an archive web1 already", "choose another name, or begin an archive each day with --daily"}},
	{name: "receiver without http", program: "pmlogger", args: "$LOGGER -c good.config localhost:$FREE",
		want: []string{"Warning: localhost:$FREE is the name of an archive on this computer: write http://localhost:$FREE to send the archive to a receiver",
			"Archive basename: localhost:$FREE"}},
	{name: "archive in a missing directory", program: "pmlogger", args: "$LOGGER -c good.config nosuch/new",
		want: []string{`failed to create "nosuch/new.index": No such file or directory`, "hint: there is no directory nosuch", "make it"}},
	{name: "missing configuration of the logger", program: "pmlogger", args: "$LOGGER -c nosuch.config new",
		want: []string{`Cannot open config file "nosuch.config": No such file or directory`, "hint: there is no file nosuch.config here or in ", "name another with -c"}},
	{name: "syntax of the logger", program: "pmlogger", args: "$LOGGER -c syntax.config new",
		want: []string{"Specification error in configuration file (syntax.config)\n[line 3] syntax error", `hint: syntax.config, line 3, column 1: found "}"`}},
	{name: "misspelt word of the logger", program: "pmlogger", args: "$LOGGER -c word.config new",
		want: []string{"Specification error in configuration file (word.config)\n[line 1] syntax error",
			`hint: word.config, line 1, column 5: found "mandatroy"; similar words: mandatory`}},
	{name: "misspelt unit of the logger", program: "pmlogger", args: "$LOGGER -c unit.config new",
		want: []string{`hint: unit.config, line 2, column 4: found "parsec"; expected here: msec, sec, min, hour`}},
	{name: "unfinished configuration of the logger", program: "pmlogger", args: "$LOGGER -c open.config new",
		want: []string{"[line 2] syntax error", "hint: open.config: the file ends before the statement is complete"}},
	{name: "unknown metric to log", program: "pmlogger", args: "$LOGGER -c unknown.config new",
		want: []string{"Warning [unknown.config, line 3]\nProblem with lookup for metric \"demo.laod\" ... logging not activated\nReason: Unknown metric name\n",
			"hint: unknown.config, line 3: demo.laod is not recorded; similar names: demo.load"}},
	{name: "log of the logger cannot be written", program: "pmlogger", args: "-s 1 -h $COLLECTOR -l nosuch/log -c good.config new",
		want: []string{`pmlogger: cannot open log "nosuch/log" for writing : No such file or directory`,
			"hint: the log cannot be written in nosuch: choose another file with -l"}},
	{name: "check of the logger's configuration without a collector", program: "pmlogger", args: "-C -h localhost:$FREE -c good.config",
		want: []string{"Connection refused\nhint: no program listens on", "; -C also looks up the metrics: name a collector with -h, or use -o"}},
	{name: "unknown authority of the logger's collector", program: "pmlogger", args: "-s 1 -h pcps://$SECURE -l - -c good.config new", tls: "verify.conf",
		want: []string{`host "pcps://$SECURE": TLS protocol failure`, "Error: TLS: x509: certificate signed by unknown authority", "set tls-ca-cert-file in tls.conf"}},
	{name: "wrong port of the logger", program: "pmlogger", args: "-s 1 -h localhost:$FREE -l - -c good.config new",
		want: []string{"Connection refused", "hint: no program listens on", "$FREE", "start pmcd there"}},

	// Tables.
	{name: "misplaced quote", program: "csv2pcp", args: "new quote.csv",
		want: []string{`csv2pcp: quote.csv: line 2: byte 5: extraneous or missing " in quoted-field`, "write a quote in it as two"}},
	{name: "text in a column of numbers", program: "csv2pcp", args: "new text.csv",
		want: []string{`csv2pcp: text.csv: line 3: column 2: "x" is not a number`, "add :string to the name of the column"}},
	{name: "no time", program: "csv2pcp", args: "new time.csv",
		want: []string{`csv2pcp: time.csv: line 3: "noon" is not a time`, "write seconds since 1970, 2026-11-23 10:30:00"}},
	{name: "misspelt kind of a column", program: "csv2pcp", args: "new kind.csv",
		want: []string{`csv2pcp: kind.csv: column "a:cuonter"`, "similar word: counter"}},
	{name: "archive of a table exists", program: "csv2pcp", args: "web1 good.csv",
		want: []string{"csv2pcp: ", "web1.index: file already exists", "choose another name for the archive"}},
}

// files are the files in the directory of each program.
var files = map[string]string{
	"agent.conf":   "cache 250 pipe binary /bin/true\n",
	"type.conf":    "cache 250 pipo binary /bin/true\n",
	"binry.conf":   "cache 250 pipe binry /bin/true\n",
	"access.conf":  "cache 250 pipe binary /bin/true\n[access]\nallow localhost all;\n",
	"alow.conf":    "cache 250 pipe binary /bin/true\n[access]\nalow localhost : all;\n",
	"missing.conf": "cache 250 pipe binary /nosuch/pmdacache\n",
	"twice.conf":   "cache 250 pipe binary /bin/true\nqueue 250 pipe binary /bin/true\n",
	"pmns":         "root {\n}\n",
	"bad.pmns":     "root {\n\tcache 250:0\n}\n",

	"good.config":    "log mandatory on 1 sec { demo.load }\n",
	"syntax.config":  "log mandatory on 1 sec {\n\tdemo.load[\n}\n",
	"word.config":    "log mandatroy on 1 sec { demo.load }\n",
	"unit.config":    "log mandatory on\n 5 parsec { demo.load }\n",
	"open.config":    "log mandatory on 1 sec { demo.load\n",
	"unknown.config": "log mandatory on 1 sec {\n\tdemo.load\n\tdemo.laod }\n",

	"good.csv":  "time,a\n1,5\n",
	"quote.csv": "time,a\n1,\"x\"y\n",
	"text.csv":  "time,a\n1,5\n2,x\n",
	"time.csv":  "time,a\n1,5\nnoon,7\n",
	"kind.csv":  "time,a:cuonter\n1,5\n",

	"verify.conf":   "tls-verify-clients = true\n",
	"ca.conf":       "tls-verify-clients = true\ntls-verify-host = true\ntls-ca-cert-file = $CA\n",
	"mismatch.conf": "tls-cert-file = $CERT\ntls-key-file = $KEY\n",
}
