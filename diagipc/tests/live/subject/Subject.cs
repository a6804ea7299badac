// Writes two events every 50 ms, and ends with its standard input.

using System;
using System.Diagnostics.Tracing;
using System.Threading;

[EventSource(Name = "Subject")]
sealed class Subject : EventSource
{
    public static readonly Subject Log = new Subject();

    [Event(1, Level = EventLevel.Informational)]
    public void Tick(int n, string text) => WriteEvent(1, n, text);

    [Event(2, Level = EventLevel.Verbose)]
    public void Detail(int n) => WriteEvent(2, n);
}

static class Program
{
    static void Main()
    {
        var timer = new Timer(_ =>
        {
            Subject.Log.Tick(Environment.TickCount, "tick");
            Subject.Log.Detail(1);
        }, null, 0, 50);
        // Under wine the scripts cannot see the id that Windows programs use.
        var process = OperatingSystem.IsWindows() ? " pid " + Environment.ProcessId : "";
        Console.Out.WriteLine("started " + Environment.Version + process);
        Console.Out.Flush();
        Console.In.ReadToEnd();
        GC.KeepAlive(timer);
    }
}
