import java.nio.ByteBuffer;
import java.util.Arrays;

import org.jgroups.Address;
import org.jgroups.Channel;
import org.jgroups.Message;

/**
 * How long a member's own messages take until all others have said to have them.
 *
 * <p>STABLE gossips every 50 s where little is sent, so an application that wants to know sooner has to ask for
 * acknowledgements itself. Each receiver answers each message with a unicast of its number.
 */
final class Acknowledgements {
    private static final int RING = 1 << 16;

    private final Channel channel;
    private final int others;
    private final long[] sentAt = new long[RING];
    private final int[] missing = new int[RING];
    private final long[] samples = new long[1 << 20];
    private boolean counts;
    private int count;

    Acknowledgements(Channel channel, int others) {
        this.channel = channel;
        this.others = others;
    }

    synchronized void begin() {
        counts = true;
    }

    synchronized void sent(int number) {
        sentAt[number & (RING - 1)] = System.nanoTime();
        missing[number & (RING - 1)] = others;
    }

    void acknowledge(Message message) throws Exception {
        byte[] number = Arrays.copyOfRange(message.getRawBuffer(), message.getOffset(), message.getOffset() + 4);
        channel.send(new Message(message.getSrc(), null, number));
    }

    synchronized void acknowledged(Message message) {
        int place = ByteBuffer.wrap(message.getRawBuffer(), message.getOffset(), 4).getInt() & (RING - 1);
        if (--missing[place] == 0 && counts && count < samples.length) {
            samples[count++] = System.nanoTime() - sentAt[place];
        }
    }

    synchronized double percentileMs(double share) {
        if (count == 0) {
            return Double.NaN;
        }
        long[] sorted = Arrays.copyOf(samples, count);
        Arrays.sort(sorted);
        return sorted[(int) Math.min(share * count, count - 1)] / 1e6;
    }

    static boolean isFrom(Message message, Address me) {
        return message.getSrc().equals(me);
    }
}
