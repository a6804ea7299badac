// Command trace stores the events of a .NET process in a file: trace SOCKET FILE SECONDS.
package main

import (
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"time"

	ipc "github.com/OWNER/dotnet-diagnostics-ipc/vectors/dotnetipc"
)

const patience = 10 * time.Second

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// ask sends a request on a connection of its own, and returns the reply and the connection with what follows it.
func ask(socket string, request ipc.Request) (ipc.Message, net.Conn) {
	message, err := ipc.Append(nil, request)
	check(err)
	connection, err := net.DialTimeout("unix", socket, patience)
	check(err)
	check(connection.SetDeadline(time.Now().Add(patience)))
	connection.Write(message) // if it fails, the reply may say why
	message, err = ipc.ReadMessage(connection)
	check(err)
	reply, err := ipc.DecodeReply(request, message)
	check(err)
	if refused, ok := reply.(*ipc.ErrorReply); ok {
		check(refused)
	}
	return reply, connection
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: trace SOCKET FILE SECONDS")
	}
	seconds, err := strconv.Atoi(os.Args[3])
	check(err)
	file, err := os.Create(os.Args[2])
	check(err)
	reply, stream := ask(os.Args[1], &ipc.CollectTracing2{CircularBufferMB: 64, Format: ipc.FormatNetTrace, RequestRundown: true, Providers: []ipc.ProviderConfig{
		{ProviderName: ipc.Text("Microsoft-Windows-DotNETRuntime"), Keywords: 1, LogLevel: ipc.LogLevelInformational},
		{ProviderName: ipc.Text("System.Runtime"), LogLevel: ipc.LogLevelVerbose, Arguments: ipc.Text("EventCounterIntervalSec=1")},
	}})
	session, ok := reply.(*ipc.SessionReply)
	if !ok {
		log.Fatal("the reply has no session")
	}
	duration := time.Duration(seconds) * time.Second
	check(stream.SetDeadline(time.Now().Add(duration + patience)))
	begun, stored := make(chan bool, 1), make(chan error, 1)
	go func() {
		_, err := io.CopyN(file, stream, 1)
		if err == nil {
			begun <- true
			_, err = io.Copy(file, stream)
		}
		stored <- err
	}()
	time.Sleep(duration)
	select {
	case <-begun:
		// The runtime sends the rest of the stream before it answers.
		ask(os.Args[1], &ipc.StopTracing{SessionID: session.SessionID})
	default:
		// The process may still wait at its start, and a stop would kill it at its resume.
		check(stream.Close())
		log.Fatalf("the trace has no byte: %v", <-stored)
	}
	check(<-stored)
	check(file.Close())
}
