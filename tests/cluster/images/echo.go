//go:build ignore

// Command echo answers with its host name and the caller's address: HTTP at port 8080, UDP at port
// 5353.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
)

func main() {
	host, err := os.Hostname()
	if err != nil {
		log.Fatal(err)
	}
	packets, err := net.ListenPacket("udp", ":5353")
	if err != nil {
		log.Fatal(err)
	}
	go answerPackets(packets, host)
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s\n", host, r.RemoteAddr)
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}

func answerPackets(packets net.PacketConn, host string) {
	buffer := make([]byte, 2048)
	for {
		n, from, err := packets.ReadFrom(buffer)
		if err == nil {
			fmt.Fprintf(writer{packets, from}, "%s %s %s\n", host, from, buffer[:n])
		}
	}
}

type writer struct {
	packets net.PacketConn
	to      net.Addr
}

func (w writer) Write(b []byte) (int, error) { return w.packets.WriteTo(b, w.to) }
