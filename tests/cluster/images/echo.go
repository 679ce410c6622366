//go:build ignore

// Command echo says who answered, and who seems to have asked: HTTP at port 8080 and UDP at port
// 5353 with {"machine": NODE_NAME of its environment, "pod": its host name, "client": "ADDRESS"}.
package main

import (
	"encoding/json"
	"log"
	"net"
	"net/http"
	"os"
)

type about struct {
	Machine string `json:"machine"`
	Pod     string `json:"pod"`
	Client  string `json:"client"`
}

// answer is what to tell a client: one line of JSON.
func (me about) answer(client string) []byte {
	host, _, err := net.SplitHostPort(client)
	if err != nil {
		log.Fatal(err)
	}
	me.Client = host
	line, err := json.Marshal(me)
	if err != nil {
		log.Fatal(err)
	}
	return append(line, '\n')
}

func main() {
	host, err := os.Hostname()
	if err != nil {
		log.Fatal(err)
	}
	me := about{Machine: os.Getenv("NODE_NAME"), Pod: host}
	packets, err := net.ListenPacket("udp", ":5353")
	if err != nil {
		log.Fatal(err)
	}
	go me.answerPackets(packets)
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Write(me.answer(r.RemoteAddr))
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}

func (me about) answerPackets(packets net.PacketConn) {
	buffer := make([]byte, 2048)
	for {
		if _, from, err := packets.ReadFrom(buffer); err == nil {
			packets.WriteTo(me.answer(from.String()), from)
		}
	}
}
