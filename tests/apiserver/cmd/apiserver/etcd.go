package main

import (
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcd is a single member on loopback that does not wait for the disk: its state need only survive
// the process.
type etcd struct {
	url    string
	server *embed.Etcd
}

func startEtcd(dir string) (*etcd, error) {
	client, peer := loopback(), loopback()
	config := embed.NewConfig()
	config.Dir, config.UnsafeNoFsync, config.LogLevel = dir, true, "error"
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	<-server.Server.ReadyNotify()
	return &etcd{url: client.String(), server: server}, nil
}

// stop ends it at once: the API server's open watches would hold up a graceful end.
func (e *etcd) stop() { e.server.Server.HardStop() }

func loopback() url.URL { return url.URL{Scheme: "http", Host: "127.0.0.1:" + freePort()} }
