/* Where things stand in a sorter's window of Modbus registers; tools/sorter/modbus/REGISTERS.md is
 * the document. */
#ifndef CRN_TOOLS_COMMON_WINDOW_REGISTERS_H
#define CRN_TOOLS_COMMON_WINDOW_REGISTERS_H

#define CRN_WINDOW_REGISTERS 125 /* one read */
#define CRN_WINDOW_DISTANCE  128 /* from one window's first register to the next one's */
#define CRN_WINDOW_HEADER    5
#define CRN_WINDOW_DECISIONS 10
#define CRN_WINDOW_DECISION  12  /* registers of one */
#define CRN_WINDOW_WRITTEN   113 /* of a window in a PLC: header and 9 decisions, in one write */
#define CRN_WINDOW_ACK       125 /* `run`, and in two registers the last decision taken */
#define CRN_WINDOW_ACKS      3

#endif
