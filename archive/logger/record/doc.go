// Package record makes recordings on the fly: the record mode of monitoring tools. A Session records one or more hosts, each into
// an archive of its own, until it is told to stop. A folio, a small file, names the archives, and pmafm(1) replays them.
//
//	s, err := record.Create("monday.folio", record.Options{Creator: "mytool"})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	web, err := s.Add(record.Host{Name: "web1", Config: "log mandatory on every 5 sec { kernel.all.load disk.dev }"})
//	if err != nil {
//		return err
//	}
//	if err := s.Start(ctx); err != nil {
//		return err
//	}
//	…
//	st, err := web.Status() // how much there is so far; an error when the logger has ended
//	…
//	err = s.Stop(ctx) // the archives are complete
//
// # Loggers
//
// Each host has a Logger. It runs in this process, on package archive/logger, or with Options.Program in a process of its own, as
// the C library has it: pmlogger(1) or a program that takes its options. Programs are controlled through a pipe, and one that is
// detached outlives its launcher. The end of such a program is what ReadControl reads.
//
// # Files
//
// All files are in the directory of the folio. BASE is six characters that make their names unique, and for further loggers of one
// host has a letter from a to z at the end.
//
//	BASE                         the configuration with which the creator replays the recording, if it has one
//	BASE.HOST.config             what is recorded of a host
//	BASE.HOST.log                what its logger has to say
//	BASE.HOST.{index,meta,0}     the archive
//
// # Differences from the C library
//
// A program may have several sessions at a time. The replay configuration stays; the C library removes it before it can be used. A
// second default host is ErrDefault; of the C library's, one goes missing from the folio. A host that is named by the path of a
// socket can be recorded: its slashes are not part of file names. A message that accompanies a command, for a dialog, cannot be
// given: pmlogger ends when it gets one.
//
// # Names in the C library
//
//	pmRecordSetup                   Create, with Session.Replay for the stream
//	pmRecordAddHost                 Session.Add
//	pmRecordControl PM_REC_SETARG   Options.Args, Host.Args
//	pmRecordControl PM_REC_ON       Session.Start
//	pmRecordControl PM_REC_STATUS   Logger.Status, Session.Status
//	pmRecordControl PM_REC_OFF      Logger.Stop, Session.Stop
//	pmRecordControl PM_REC_DETACH   Logger.Detach, Session.Detach
//	pmRecordHost                    Logger, with Done, Err, LogFile and PID for fd_ipc, status, logfile and pid
package record
