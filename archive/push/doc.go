// Package push sends archives to another computer while they are recorded, and receives them. It
// does what pmlogger does with a URL as its archive, and what pmproxy does at /logger, in PCP 7.
//
//	// receive, below /var/log/pcp/pmproxy/HOST/
//	rc, err := push.ReceiverOptions{Dir: "/var/log/pcp/pmproxy"}.Open()
//	if err != nil {
//		return err
//	}
//	defer rc.Close()
//	http.Handle("/logger/", rc)
//	err = http.ListenAndServe("localhost:44322", nil)
//
//	// send, in another program: Options of package archive/logger
//	o := logger.Options{Config: config, Push: &push.SenderOptions{URL: "http://localhost:44322"}}
//	err := logger.Run(ctx, src, o)
//
// A [Receiver] accepts archives from pmlogger and pmlogpush of PCP 7. A [Sender] also sends to
// pmproxy of PCP 7.
//
// # Keep the archives of many computers on one
//
// The gateway examples/pmproxy receives archives with the option --push, and examples/pmlogger
// sends them if its archive is a URL:
//
//	go run ./examples/pmproxy --push=/tmp/received &
//	echo 'log mandatory on 1 sec kernel.all.load' >config
//	go run ./examples/pmlogger -h localhost -c config -T 5sec -l push.log http://localhost:44322
//	go run ./examples/pmdumplog /tmp/received/*/*.meta kernel.all.load
//
// # Permissions
//
// By default a Receiver allows clients of this computer only.
//
//   - ReceiverOptions.Networks allows clients by address. The gateway has --push-from=10.0.0.0/8.
//   - ReceiverOptions.Users allows clients by name and password, or by token, and may restrict each
//     to some hosts. UsersFile names a file of them. The gateway has --push-users=FILE.
//
// If logins of a user from one address fail 30 times in a minute, the Receiver refuses that user at
// that address for a while. Behind a reverse proxy, wrap the Receiver with webapi.Forwarded, which
// tells it the addresses of clients. The gateway has --trusted-proxy=ADDR.
//
// A sender gives its name and password in [SenderOptions]; examples/pmlogger has --login=FILE. Use
// TLS where passwords cross a network: the gateway reads a certificate from tls.conf.
//
// [Limits] bounds the number of archives, the bytes of each client and of the directory, and the
// memory of a Receiver. Its zero value has a default for each.
//
// # Files
//
// An archive is in the directory of its host: DIR/HOST/YYYYMMDD.HH.MM, with -01 and so on if the
// name is taken. A Receiver writes only whole records, so other programs can read an archive while
// it grows. The directory .push has the state of the Receiver, so that it can continue after it was
// killed. A label cannot make a Receiver write outside DIR.
//
// # Failures
//
// While the receiver cannot be reached, the sender keeps the records in memory, and sends them
// later. If they have SenderOptions.MaxBuffer bytes, by default 64 MiB, a logger drops further
// records until the receiver has accepted some, and writes a mark before the first one after the
// gap. A receiver that was killed continues the archives that it has when it is started again.
// If it has lost an archive, the sender begins another one there, with all metadata and with the
// records that were not confirmed.
//
// # Requests
//
//	GET  /logger/ping          {"success":true}
//	POST /logger/label         a label: begins an archive    {"archive":N,"success":true}
//	POST /logger/meta/N        records of the metadata       {"success":true}
//	POST /logger/index/N       entries of the index          {"success":true}
//	POST /logger/volume/V/N    records of a volume           {"success":true}
//
// The bodies of the requests for a file, one after another, are what follows the label in the file.
// A body may end within a record. The body of an error is {"success":false}, and the header
// Pcp-Push-Error says why. The status of errors is that of pmproxy where pmproxy has one:
//
//	400   malformed request or record, or more than 64 MiB;
//	      label with a wrong length, host or time zone
//	403   the client may not push
//	404   unknown path
//	408   the body did not come to its end
//	409   a volume before the latest one, or an offset beyond the end of the file
//	410   unknown archive, or timed out
//	422   a label that is invalid otherwise
//	429   MaxArchivesPerClient, too many failed logins,
//	      or incomplete records of one client that take more than 16 MiB of memory
//	500   volume 5000 or higher, a body with 10 MiB or more of records, error of the file system
//	503   MaxArchives, a closed Receiver, an archive that is busy,
//	      or incomplete records of all clients that take more than 64 MiB of memory
//	507   beyond a quota, or no space on the disk
//
// A successful reply, except to a ping, has the header Pcp-Push-Offset: the offset of the end of
// the file. Errors may have it, too. A request may have the parameter offset: where its records
// belong in the file. The Receiver skips bytes that it has already, and answers 409 for a gap. With
// these, a Sender continues an archive after a request whose outcome it does not know.
package push
