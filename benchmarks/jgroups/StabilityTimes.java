import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;

import org.jgroups.Address;
import org.jgroups.Event;
import org.jgroups.Message;
import org.jgroups.conf.ClassConfigurator;
import org.jgroups.protocols.pbcast.NAKACK;
import org.jgroups.protocols.pbcast.NakAckHeader;
import org.jgroups.stack.Protocol;
import org.jgroups.util.Digest;

/**
 * How long a member's own messages take until its STABLE protocol knows that all members have them.
 *
 * <p>One part of it stands below NAKACK, and sees each multicast message go out with its number. The other one
 * stands above NAKACK, and sees STABLE tell NAKACK what it may let go of.
 */
final class StabilityTimes {
    private static final int RING = 1 << 21;

    private final long[] sentAt = new long[RING];
    private final long[] samples = new long[1 << 22];
    private final AtomicLong highest = new AtomicLong();
    private volatile Address me;
    private volatile boolean counts;
    private long stable;
    private int count;

    void begin(Address address) {
        me = address;
        counts = true;
    }

    synchronized double percentileMs(double share) {
        if (count == 0) {
            return Double.NaN;
        }
        long[] sorted = Arrays.copyOf(samples, count);
        Arrays.sort(sorted);
        return sorted[(int) Math.min(share * count, count - 1)] / 1e6;
    }

    private void sent(long number) {
        sentAt[(int) (number & (RING - 1))] = System.nanoTime();
        highest.accumulateAndGet(number, Math::max);
    }

    private synchronized void becameStable(long number) {
        long now = System.nanoTime();
        long first = Math.max(stable, highest.get() - RING) + 1;
        for (long each = first; each <= number; each++) {
            long at = sentAt[(int) (each & (RING - 1))];
            if (counts && at != 0 && count < samples.length) {
                samples[count++] = now - at;
            }
        }
        stable = Math.max(stable, number);
    }

    /** Sees messages leave, each with its number. */
    final class BelowNakack extends Protocol {
        private final short nakack = ClassConfigurator.getProtocolId(NAKACK.class);

        @Override
        public Object down(Event event) {
            if (event.getType() == Event.MSG) {
                NakAckHeader header = (NakAckHeader) ((Message) event.getArg()).getHeader(nakack);
                if (header != null && header.getType() == NakAckHeader.MSG) {
                    sent(header.getSeqno());
                }
            }
            return down_prot.down(event);
        }
    }

    /** Sees what STABLE found out. */
    final class AboveNakack extends Protocol {
        @Override
        public Object down(Event event) {
            Address address = me;
            if (event.getType() == Event.STABLE && address != null) {
                becameStable(((Digest) event.getArg()).highestDeliveredSeqnoAt(address));
            }
            return down_prot.down(event);
        }
    }
}
