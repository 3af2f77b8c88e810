// Package push sends archives to another computer while they are recorded, and receives them: the counterpart of pmproxy's /logger, and of
// pmlogger with a URL in the place of an archive, of PCP 7.
//
//	rc, err := push.ReceiverOptions{Dir: "/var/log/pcp/pmproxy"}.Open()
//	…
//	defer rc.Close()
//	mux.Handle("/logger/", rc)
//
// It receives what pmlogger and pmlogpush of PCP 7 send, and a [Sender] sends to pmproxy, too. A program that records sends with
// Options.Push of package archive/logger.
//
// # Requests
//
//	GET  /logger/ping          {"success":true}
//	POST /logger/label         a label: begins an archive    {"archive":N,"success":true}
//	POST /logger/meta/N        records of the metadata       {"success":true}
//	POST /logger/index/N       entries of the index          {"success":true}
//	POST /logger/volume/V/N    records of a volume           {"success":true}
//
// Bodies have whole records or parts of them, as they come in the file after its label. Errors have {"success":false} and the status of
// pmproxy: 400 for a request that is wrong, 403 for a client that may not push, 409 for a volume or an offset that does not come next,
// 410 for an archive that is not known or has timed out, 422 for a label that is none, 500 for a volume or a request that is too large and for
// errors of the file system, 507 for bytes beyond a quota. Why is in the header Pcp-Push-Error.
//
// Senders of this package continue an archive after a request of which they do not know the end: a reply has in the header
// Pcp-Push-Offset where the file ends now, and a request with the parameter offset= says where its records belong. What is there
// already is left out, and a gap is 409.
//
// # Files
//
// An archive is in the directory of its host, DIR/HOST/YYYYMMDD.HH.MM with -01 and so on if there is one of this name. What is in the
// files are whole records at any time, so that others can read it while it grows. The directory .push has what a receiver needs
// to go on after it was killed. Everything is within DIR, whatever a label says.
package push
