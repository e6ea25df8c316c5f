/* The keys of a sorter's file, one row each. */
#include "tools/sorter/settings/internal.h"

#define KEY(section, member, ...)                                                                  \
    CRN_PARAM_AT(#member, crn_sorter_settings, section.member, __VA_ARGS__)

static const crn_param line[] = {
    KEY(line, endpoint, .help = "publish.grader.bind of the line, tcp://HOST:PORT or ipc://PATH"),
    KEY(line, key, .fallback = "",
        .help = "file with this program's secret key, where the line requires keys (access.keys)"),
    KEY(line, server_key, .fallback = "", .help = "with key: the line's public key, server.pub"),
    KEY(line, silence_ms, .fallback = "0", .min = 0, .max = 600000, .live = true,
        .help = "after so long without a message the line counts as dead; 0: 3 x the line's "
                "publish.grader.alive_ms, never where the line sends no alive messages"),
    KEY(line, late_ms, .fallback = "50", .min = 0, .max = 60000, .live = true,
        .help = "a verdict that arrives so long after its deadline goes to outlets.late"),
    KEY(line, page, .fallback = "",
        .help = "HOST:PORT of the line's monitor.http, whose live page then [shows the "
                "outlets](#on-the-lines-live-page); empty: it does not"),
    KEY(line, page_token_file, .fallback = "",
        .help = "where the line is on another machine: file with the token of its "
                "monitor.token_file"),
    {0}};

static const char *const stdout_formats[] = {"none", "text", "json", NULL};

static const crn_param standard[] = {KEY(outputs.standard, format, .fallback = "none",
                                         .choices = stdout_formats,
                                         .help = "a line for each decision on standard output"),
                                     {0}};

static const crn_param tcp[] = {
    KEY(outputs.tcp, bind, .fallback = "",
        .help = "HOST:PORT at which clients get a line for each decision; empty: none. There is no "
                "encryption and no password: 127.0.0.1:PORT, or a network of the machine alone"),
    KEY(outputs.tcp, clients, .fallback = "8", .min = 1, .max = 32,
        .help = "connections at once; one more is closed"),
    KEY(outputs.tcp, backlog_kib, .fallback = "64", .min = 4, .max = 4096,
        .help = "what waits for a slow client; past it the client is disconnected"),
    KEY(outputs.tcp, alive_ms, .fallback = "1000", .min = 0, .max = 60000,
        .help = "distance of #alive lines; 0: none"),
    {0}};

static const crn_param modbus_server[] = {
    KEY(outputs.modbus_server, bind, .fallback = "",
        .help = "HOST:PORT at which PLCs poll ([registers](modbus/REGISTERS.md)); empty: none. "
                "Modbus has no encryption and no password: a network of the machine alone"),
    KEY(outputs.modbus_server, peers, .fallback = "",
        .help = "addresses that may connect, as [192.168.7.10]; empty: any that reach it"),
    KEY(outputs.modbus_server, lanes, .fallback = "", .min = 0, .max = 65535,
        .help = "lanes with a window of their own, from register 128 on; window 0 has all lanes"),
    KEY(outputs.modbus_server, ring, .fallback = "1000", .min = 10, .max = 65535,
        .help = "decisions of a window that wait for the PLC; past it the oldest is overwritten, "
                "counted and logged"),
    {0}};

static const crn_param modbus_client[] = {
    KEY(outputs.modbus_client, address, .fallback = "",
        .help = "HOST:PORT of a PLC that is written to ([registers and coils](plc/REGISTERS.md)); "
                "empty: none"),
    KEY(outputs.modbus_client, unit, .fallback = "1", .min = 0, .max = 247,
        .help = "unit identifier of the PLC at that address"),
    KEY(outputs.modbus_client, timeout_ms, .fallback = "100", .min = 10, .max = 10000,
        .help = "the PLC counts as gone when it has not answered for so long"),
    KEY(outputs.modbus_client, window, .fallback = "-1", .min = -1, .max = 65535 - 127,
        .help = "first of 128 holding registers for decisions; -1: only coils are written"),
    KEY(outputs.modbus_client, ring, .fallback = "1000", .min = 10, .max = 65535,
        .help = "decisions that wait for the PLC's acknowledgement; past it the oldest is "
                "overwritten, counted and logged"),
    {0}};

static const crn_param mqtt[] = {
    KEY(outputs.mqtt, broker, .fallback = "",
        .help = "HOST:PORT of an MQTT broker ([topics](mqtt/README.md)); empty: none"),
    KEY(outputs.mqtt, topic, .fallback = "cernita/sorter",
        .help = "topic below which all messages are; each sorter of a broker needs its own"),
    KEY(outputs.mqtt, user, .fallback = "", .help = "user name for the broker; empty: none"),
    KEY(outputs.mqtt, password_file, .fallback = "",
        .help = "file whose first line is that user's password"),
    KEY(outputs.mqtt, ca_file, .fallback = "",
        .help = "certificates (PEM) by which the broker is known, for TLS; empty: no TLS"),
    {0}};

static const crn_param outcome_log[] = {
    KEY(outputs.log, dir, .fallback = "",
        .help = "folder, of this sorter alone, with [what was decided about each "
                "fruit](../../src/formats/outcomes/README.md), for cernita-archive --sorter; "
                "\"\": none. A service whose file does not have the key: STATE_DIRECTORY "
                "(cernita-sorter@NAME: /var/lib/cernita/sorter-NAME)"),
    KEY(outputs.log, keep_mib, .fallback = "1024", .min = 65, .max = 16777216,
        .help = "size of that log; past it the oldest of its files, of 64 MiB, is removed"),
    KEY(outputs.log, keep_days, .fallback = "7", .min = 0, .max = 36500,
        .help = "files of it that were last written more days ago are removed, once they are "
                "archived where cernita-archive follows it; 0: only keep_mib counts"),
    {0}};

static const char *const sources[] = {"none", "views", "modbus", "mqtt", NULL};
static const char *const register_kinds[] = {"holding", "input", NULL};

static const crn_param firing[] = {
    KEY(firing, source, .fallback = "none", .choices = sources,
        .help = "where the belt's position comes from: the verdicts' encoder, registers of the PLC "
                "of outputs.modbus_client, or messages by outputs.mqtt.broker; it must be the "
                "counter that the camera's senders read"),
    KEY(firing, address, .fallback = "0", .min = 0, .max = 65535,
        .help = "source modbus: the counter's first register, the high word first"),
    KEY(firing, registers, .fallback = "holding", .choices = register_kinds,
        .help = "source modbus: what kind of registers"),
    KEY(firing, topic, .fallback = "",
        .help = "source mqtt: topic of messages `TICK TIME`, TIME in ns since 1970"),
    KEY(firing, confirm_topic, .fallback = "",
        .help =
            "topic of messages `LANE OUTLET`, one for each fruit that reached an outlet; empty: "
            "only the ejectors' inputs confirm"),
    KEY(firing, width, .fallback = "32", .min = 16, .max = 64,
        .help = "width of the counter in bits, after which it wraps around"),
    KEY(firing, speed_max, .fallback = "0", .min = 0, .max = 1e9,
        .help = "fastest speed of the belt in ticks per second; a faster change is a jump of the "
                "counter; required where there are ejectors"),
    KEY(firing, stop_ms, .fallback = "50", .min = 1, .max = 60000,
        .help = "shortest time from that speed to standstill; a sooner one is a jump"),
    KEY(firing, age_ms, .fallback = "50", .min = 1, .max = 60000,
        .help = "the position is unknown so long after the last reading; longer than its distance"),
    KEY(firing, tolerance, .fallback = "0", .min = 0, .max = 1e9,
        .help = "ticks past its ejector up to which a fruit is fired, less than half a pitch; "
                "required where there are ejectors"),
    KEY(firing, poll_ms, .fallback = "5", .min = 1, .max = 1000,
        .help = "distance of the readings of registers and inputs"),
    {0}};

static const crn_param monitor[] = {
    KEY(monitor, http, .fallback = "",
        .help = "HOST:PORT of [/metrics and /healthz](monitor/README.md); empty: none"),
    {0}};

static const crn_param control[] = {
    KEY(control, path, .fallback = "",
        .help =
            "socket (AF_UNIX) that cernitactl asks at: status, reload; for this user, its group "
            "and root; empty: RUNTIME_DIRECTORY/control under systemd (cernita-sorter@NAME: "
            "/run/cernita-sorter/NAME/control), otherwise none"),
    {0}};

static const crn_param state[] = {
    KEY(state, file, .fallback = "",
        .help = "file, of this sorter alone, of the verdicts that were decided about: after a kill "
                "the next start reports those that were lost meanwhile; empty: "
                "RUNTIME_DIRECTORY/sequences under systemd, otherwise none"),
    {0}};

static const crn_section outputs[] = {{.key = "stdout", .rows = standard},
                                      {.key = "tcp", .rows = tcp},
                                      {.key = "modbus_server", .rows = modbus_server},
                                      {.key = "modbus_client", .rows = modbus_client},
                                      {.key = "mqtt", .rows = mqtt},
                                      {.key = "log", .rows = outcome_log},
                                      {0}};

const crn_section crn_sorter_sections[] = {
    {.key = "line", .rows = line},
    CRN_OUTLETS_SECTIONS(offsetof(crn_sorter_settings, outlets)),
    {.key = "outputs", .sections = outputs},
    {.key = "firing", .rows = firing},
    {.key = "ejectors",
     .kind = CRN_SECTION_OWN,
     .read = crn_sorter_read_ejectors,
     .help =
         "`- {outlet: NAME, distance: TICKS, coil: ADDRESS}`, at most 256, one for each lane and "
         "outlet ([keys](plc/REGISTERS.md#ejectors))"},
    {.key = "monitor", .rows = monitor},
    {.key = "control", .rows = control},
    {.key = "state", .rows = state},
    {.key = "log", .rows = crn_keys_log, .at = offsetof(crn_sorter_settings, log)},
    {0}};

const crn_param crn_sorter_ejector_keys[] = {
    CRN_PARAM(crn_sorter_ejector, outlet, .help = "one of outlets.names"),
    CRN_PARAM(crn_sorter_ejector, lane, .fallback = "0", .min = 0, .max = 65535,
              .help = "the lane whose fruits it throws off"),
    CRN_PARAM(crn_sorter_ejector, distance, .min = 1, .max = 1e9,
              .help = "ticks from where a fruit's first view is captured"),
    CRN_PARAM(crn_sorter_ejector, coil, .min = 0, .max = 65535, .help = "the coil's address"),
    CRN_PARAM(crn_sorter_ejector, delay_ms, .fallback = "0", .min = 0, .max = 1000,
              .help = "from the coil to the ejector's effect"),
    CRN_PARAM(crn_sorter_ejector, pulse_ms, .fallback = "0", .min = 0, .max = 1000,
              .help = "after which the coil is written off; 0: the PLC does that"),
    CRN_PARAM(crn_sorter_ejector, confirm_ms, .fallback = "0", .min = 0, .max = 10000,
              .help = "from the effect to the latest confirmation; 0: nothing confirms"),
    CRN_PARAM(crn_sorter_ejector, input, .fallback = "-1", .min = -1, .max = 65535,
              .help = "discrete input that is 1 while a fruit passes into the outlet; -1: none, "
                      "firing.confirm_topic confirms"),
    {0}};
