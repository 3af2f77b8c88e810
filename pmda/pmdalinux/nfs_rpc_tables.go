package pmdalinux

// rpcClient are the metrics of single numbers of /proc/net/rpc/nfs.
var rpcClient = []rpcMetric{
	{20, "rpc.client.rpccnt", "rpc", 0, "Remote procedure calls that the NFS client made"},
	{21, "rpc.client.rpcretrans", "rpc", 1, "Remote procedure calls that the NFS client sent again, as no answer had come"},
	{22, "rpc.client.rpcauthrefresh", "rpc", 2, "Times that the NFS client got its credentials anew"},
	{24, "rpc.client.netcnt", "net", 0, "Packets of the NFS client's calls"},
	{25, "rpc.client.netudpcnt", "net", 1, "Packets over UDP of the NFS client's calls"},
	{26, "rpc.client.nettcpcnt", "net", 2, "Packets over TCP of the NFS client's calls"},
	{27, "rpc.client.nettcpconn", "net", 3, "TCP connections that the NFS client made"},
}

// rpcServer are the metrics of single numbers of /proc/net/rpc/nfsd.
var rpcServer = []rpcMetric{
	{30, "rpc.server.rpccnt", "rpc", 0, "Remote procedure calls that the NFS server got"},
	{31, "rpc.server.rpcerr", "rpc", 1, "Remote procedure calls that the NFS server refused, for any reason"},
	{32, "rpc.server.rpcbadfmt", "rpc", 2, "Remote procedure calls that the NFS server refused as malformed"},
	{33, "rpc.server.rpcbadauth", "rpc", 3, "Remote procedure calls that the NFS server refused for their credentials"},
	{34, "rpc.server.rpcbadclnt", "rpc", 4, "Remote procedure calls that the NFS server refused for the client they came from"},
	{35, "rpc.server.rchits", "rc", 0, "Calls of the NFS server that it had answered before, and answered the same from its cache"},
	{36, "rpc.server.rcmisses", "rc", 1, "Calls of the NFS server whose answers went into the cache of answers"},
	{37, "rpc.server.rcnocache", "rc", 2, "Calls of the NFS server that may be done twice, so that answers need no cache"},
	{41, "rpc.server.fh_lookup", "fh", 1, "File handles that the NFS server looked up; recent kernels leave this 0"},
	{42, "rpc.server.fh_stale", "fh", 0, "File handles of clients whose file the NFS server had no more"},
	{44, "rpc.server.netcnt", "net", 0, "Packets that the NFS server got"},
	{45, "rpc.server.netudpcnt", "net", 1, "Packets over UDP that the NFS server got"},
	{46, "rpc.server.nettcpcnt", "net", 2, "Packets over TCP that the NFS server got"},
	{47, "rpc.server.nettcpconn", "net", 3, "TCP connections that the NFS server accepted"},
	{51, "rpc.server.fh_anon", "fh", 2, "File handles for which the NFS server made an entry without a name; recent kernels leave this 0"},
	{52, "rpc.server.fh_nocache_dir", "fh", 3, "File handles of directories that were in no cache of the NFS server; recent kernels leave this 0"},
	{53, "rpc.server.fh_nocache_nondir", "fh", 4, "File handles of others than directories that were in no cache of the NFS server; recent kernels leave this 0"},
	{54, "rpc.server.io_read", "io", 0, "Bytes that clients have read of the NFS server"},
	{55, "rpc.server.io_write", "io", 1, "Bytes that clients have written to the NFS server"},
	{56, "rpc.server.th_cnt", "th", 0, "Threads that the NFS server has, as its counters tell"},
	{57, "rpc.server.th_fullcnt", "th", 1, "Times that all threads of the NFS server were busy; recent kernels leave this 0"},
}

// nfs2Procedures are the procedures of version 2, in order of their numbers.
var nfs2Procedures = []string{
	"null", "getattr", "setattr", "root", "lookup", "readlink", "read", "wrcache", "write", "create", "remove", "rename",
	"link", "symlink", "mkdir", "rmdir", "readdir", "statfs",
}

// nfs3Procedures are those of version 3.
var nfs3Procedures = []string{
	"null", "getattr", "setattr", "lookup", "access", "readlink", "read", "write", "create", "mkdir", "symlink", "mknod",
	"remove", "rmdir", "rename", "link", "readdir", "readdir+", "statfs", "fsinfo", "pathconf", "commit",
}

// nfs4Procedures are the procedures that the kernel's client of version 4 counts, in its order.
var nfs4Procedures = []string{
	"null", "read", "write", "commit", "open", "open_conf", "open_noat", "open_dgrd", "close", "setattr", "fsinfo",
	"renew", "setclntid", "confirm", "lock", "lockt", "locku", "access", "getattr", "lookup", "lookup_root", "remove",
	"rename", "link", "symlink", "create", "pathconf", "statfs", "readlink", "readdir", "server_caps", "delegreturn",
	"getacl", "setacl", "fs_locations", "rel_lkowner", "secinfo", "fsid_present", "exchange_id", "create_ses",
	"destroy_ses", "sequence", "get_lease_t", "reclaim_comp", "layoutget", "getdevinfo", "layoutcommit", "secinfononam",
	"test_stateid", "free_stateid", "getdevlist", "bind_ses", "destroy_clntid", "seek", "allocate", "deallocate",
}

// nfs4Operations are the operations of version 4, in order of their numbers.
var nfs4Operations = []string{
	"op0-unused", "op1-unused", "op2-future", "access", "close", "commit", "create", "delegpurge", "delegreturn",
	"getattr", "getfh", "link", "lock", "lockt", "locku", "lookup", "lookup_root", "nverify", "open", "openattr",
	"open_conf", "open_dgrd", "putfh", "putpubfh", "putrootfh", "read", "readdir", "readlink", "remove", "rename",
	"renew", "restorefh", "savefh", "secinfo", "setattr", "setcltid", "setcltidconf", "verify", "write", "rellockowner",
	"bc_ctl", "bind_conn", "exchange_id", "create_ses", "destroy_ses", "free_stateid", "getdirdeleg", "getdevinfo",
	"getdevlist", "layoutcommit", "layoutget", "layoutreturn", "secinfononam", "sequence", "set_ssv", "test_stateid",
	"want_deleg", "destroy_clid", "reclaim_comp", "allocate", "copy", "copy_notify", "deallocate", "io_advise",
	"layouterror", "layoutstats", "offload_cancel", "offload_status", "read_plus", "seek", "write_same",
}
